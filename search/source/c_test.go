package source

import "testing"

func TestC(t *testing.T) {
	checkOutline(t, "a.c", `#include <stdio.h>
#include "a/b.h"
#define LIMIT 10
#define FLAG
#define MAX(a, b) \
	((a) > (b) ? (a) : (b))
#if 0
int dead(void) { {
#endif
typedef unsigned int u32;
typedef int (*callback)(int, void *);
typedef struct { int x; } point, *ppoint;
typedef struct node { struct node *next; int (*f)(int); } node_t;
struct __attribute__((packed)) pack { char c; };
enum color { RED = 1, GREEN };
union u;
static int counter = init(1), *other;
extern int elsewhere;
int (*hook)(int);
static const char *const names[] = { "{", "}" }, c = '"';
int prototype(int a);
/* Of f. */
static inline const char *f(int a, const char *b)
{
	int prototype2(void);
#ifdef A
	if (g(a)) {
#else
	if (h(a)) {
#endif
		b->c.d(MAX(1, 2));
	}
	return sizeof(a) ? k ("a\
}") : 0;
}
int
old(a, b)
	int a;
	char *b;
{ return a; }
struct node *make(void) { return (struct node *)malloc(1); }
void (*signal(int s, void (*func)(int)))(int) { return func; }
EXPORT_SYMBOL(make);
DEFINE_THING(foo)
static int after(void) __attribute__((unused));
static int after(void) { return 1; }
struct { int a; } anon = { 1 };
__attribute__((noreturn)) void die(void) { for (;;) exit(1); }
`, `
var LIMIT 3-3 in -
func MAX 5-6 in -
class u32 10-10 in -
class callback 11-11 in -
class point 12-12 in -
class ppoint 12-12 in -
class node 13-13 in -
class node_t 13-13 in -
class pack 14-14 in -
class color 15-15 in -
var counter 17-17 in -
var other 17-17 in -
var hook 19-19 in -
var names 20-20 in -
var c 20-20 in -
func f 23-35 in -
func old 36-40 in -
func make 41-41 in -
func signal 42-42 in -
func after 46-46 in -
var anon 47-47 in -
func die 48-48 in -
1 - imports stdio.h
2 - imports a/b.h
17 counter calls init
27 f calls g
29 f calls h
31 f calls b->c.d
31 f calls MAX
33 f calls k
41 make calls malloc
48 die calls exit
`)
}

func TestCpp(t *testing.T) {
	checkOutline(t, "a.hpp", `#pragma once
#ifndef A_H
#define A_H
extern "C" {
int c_function(int);
}
namespace n { namespace m::o {
template <typename T, int N = (3 > 2)>
class EXPORT Box final : public ns::Base<T>, private Other {
public:
  explicit Box(int x) : Base<T>(x), n_{x}, s(f({1, 2})) { init(); }
  Box(const Box&) = delete;
  virtual ~Box() {}
  [[nodiscard]] auto size() const noexcept -> std::size_t override { return n_; }
  bool operator==(const Box &o) const { return a < b && c > d; }
  T operator()(int) { return T(); }
  operator bool() const;
  virtual void pure(int) = 0;
  struct Inner { void deep() { g<int>(1); } } inner;
  enum class E : char { A, B };
private:
  int n_ = 0, m[2];
  std::function<void(int)> cb;
};
}}
using Alias = Box<int>;
enum E2 { X };
struct Forward;
extern int shared;
extern EXPORT(int) exported(void);
extern int OLD old OF((int a));
STACK_OF(X) *stack(void);
IS_VECTOR(X)
struct Y { DECL(A, B)
  Y *m() const; int n(int) __THROW __nonnull ((1)); };
typedef STACK_OF(X) stack_t;
typedef int (API *pointer)(int);
LUA_API int (lua_type)(lua_State *L);
int (*get(void))(int);
struct F { friend bool operator<(F a, F b) { return c(a); } friend class G; };
static __attribute__((aligned(4))) int aligned = 1;
inline int braced{3};
const auto raw = R"x(})")x";
#endif
`, `
func c_function 5-5 in -
class Box 8-24 in -
func Box 11-11 in Box
func Box 12-12 in Box
func ~Box 13-13 in Box
func size 14-14 in Box
func operator== 15-15 in Box
func operator() 16-16 in Box
func operator bool 17-17 in Box
func pure 18-18 in Box
class Inner 19-19 in Box
func deep 19-19 in Inner
class E 20-20 in Box
class Alias 26-26 in -
class E2 27-27 in -
var shared 29-29 in -
func exported 30-30 in -
func old 31-31 in -
func stack 32-32 in -
class Y 34-35 in -
func m 35-35 in Y
func n 35-35 in Y
class stack_t 36-36 in -
class pointer 37-37 in -
func lua_type 38-38 in -
func get 39-39 in -
class F 40-40 in -
func operator< 40-40 in F
var aligned 41-41 in -
var braced 42-42 in -
var raw 43-43 in -
9 Box inherits ns::Base
9 Box inherits Other
11 Box calls init
16 operator() calls T
19 deep calls g
40 operator< calls c
`)
	checkOutline(t, "a.cc", `class A { void f(); class B; };
void A::f() { p->q(1); std::sort(a, b); auto l = [&](int x) { return k(x); }; Type v(3); }
template <class T> int ns::C<T>::g(T t) const { return A::s(); }
A::A() : x(1) {}
A::~A() {}
std::ostream& operator<<(std::ostream& o, const A& a) { return o << a; }
TEST(Suite, Case) { EXPECT_EQ(1, 1'000); }
static void proto(int);
int x = 1, y = f(2, 3), *z;
A::B::~B() = default;
void g() { struct L : A { void m(); }; class Q q; }
`, `
class A 1-1 in -
func f 1-1 in A
func f 2-2 in A
func g 3-3 in -
func A 4-4 in A
func ~A 5-5 in A
func operator<< 6-6 in -
func Case 7-7 in -
var x 9-9 in -
var y 9-9 in -
var z 9-9 in -
func ~B 10-10 in -
func g 11-11 in -
class L 11-11 in g
func m 11-11 in L
2 f calls p->q
2 f calls std::sort
2 f calls k
3 g calls A::s
7 Case calls EXPECT_EQ
9 x calls f
11 L inherits A
`)
}
