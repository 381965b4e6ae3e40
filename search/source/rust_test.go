package source

import "testing"

func TestRust(t *testing.T) {
	checkOutline(t, "a.rs", `//! Of the file.
#![allow(dead(code))]
use std::{self, fmt::{self as f, Display}, io::*};
use a::b as c; use d;
extern crate e;
mod sub;

/// Of S.
#[derive(Debug, Clone)]
#[cfg(test)]
pub(crate) struct S<'a, T: 'a + Fn(u8) -> u8>(&'a str, T) where T: Copy;
pub enum E { A(u8), B { x: char }, C = b'\'' as isize }
impl<'a, T> S<'a, T> {
    pub const fn new(x: &'a str) -> Self { let c = '{'; let d = '\''; Self::make(x, "
}", r#"}"{"#) }
    #[inline]
    async unsafe fn m<F>(&mut self, f: F) -> Vec<u8> where F: FnOnce(u8) -> Option<u8>, { self.x.go::<u8>(1)?.then() }
}
impl<T> fmt::Display for S<'_, T> { fn fmt(&self) { write!(f, "{}", g(1)) } }
unsafe impl Send for ext::Other {}
impl From<S> for Other { fn from(s: S) -> Other { Other } }
pub trait Tr: Base + ns::Other<T> + 'static {
    type X;
    const N: usize = 1;
    fn required(&self) -> impl Iterator;
    fn given(&self) { /* } /* nested } */ */ helper() }
}
macro_rules! mac { ($x:expr) => { fn no() {} } }
pub static mut G: [u8; 2] = [f(), 1];
const _: () = ();
type Alias<T> = Result<T, Box<dyn Fn(u8)>>;
mod tests {
    use super::*;
    #[test]
    fn t() { let f = |x| x + 1; fn nested() {} let r#type = Vec::<u8>::with_capacity(3); }
}
pub extern "C" fn ffi(cb: extern "C" fn(i32)) -> i32 { cb(1) }
union U { a: u8 }
`, `
class S 11-11 in - @9
class E 12-12 in -
func new 14-15 in S
func m 17-17 in S @16
func fmt 19-19 in S
func from 21-21 in -
class Tr 22-27 in -
func required 25-25 in Tr
func given 26-26 in Tr
func mac 28-28 in -
var G 29-29 in -
class Alias 31-31 in -
func t 35-35 in - @34
func nested 35-35 in t
func ffi 37-37 in -
class U 38-38 in -
3 - imports std
3 - imports std::fmt as f
3 - imports std::fmt Display
3 - imports std::io *
4 - imports a b as c
4 - imports d
5 - imports e
6 - imports self::sub
9 S decorates derive
10 S decorates cfg
14 new calls Self::make
16 m decorates inline
17 m calls self.x.go
17 m calls .then
19 S inherits fmt::Display
19 fmt calls write
19 fmt calls g
20 - inherits Send as ext::Other
21 - inherits From as Other
22 Tr inherits Base
22 Tr inherits ns::Other
26 given calls helper
29 G calls f
33 - imports super *
34 t decorates test
35 t calls Vec::with_capacity
37 ffi calls cb
`)
	f := Scan("a.rs", "/// Of f\n/// more\n#[x]\npub fn f(a: u8)\n    -> u8 where A: B {\n}\n")
	if e := f.Entities[0]; e.Signature != "pub fn f(a: u8)\n    -> u8 where A: B" || e.Doc != "Of f\nmore" {
		t.Errorf("%+v", e)
	}
}
