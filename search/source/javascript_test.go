package source

import "testing"

func TestJavaScript(t *testing.T) {
	for name, c := range map[string]struct{ path, src, want string }{
		"functions and modules": {"a.js", "#!/usr/bin/env node\n" + `import def, { a, b as c } from "./m";
import * as ns from 'n'
export { x } from "./x"; export * from './y';
const fs = require("fs"), path = require('path');
const LIMIT = 10, other = f(1)
export default async function main(argv = parse()) {
  function inner() { return g() }
  return inner` + "`${h({a: 1})} } ${`x${k()}`}`" + `
}
const arrow = async (x, {y} = {}) => x.go(y)
const block = x => {
  return x?.run() / 2 / z()
}
exports.old = function () { return /[/"{]/.test(s) }
A.prototype.m = function named(n) { if (n) /}"/.exec(n) }
async (x) => anon()
`, `
var LIMIT 6-6 in -
var other 6-6 in -
func main 7-10 in -
func inner 8-8 in main
func arrow 11-11 in -
func block 12-14 in -
func old 15-15 in -
func m 16-16 in -
2 - imports ./m default as def
2 - imports ./m a
2 - imports ./m b as c
3 - imports n as ns
4 - imports ./x x
4 - imports ./y *
5 - imports fs as fs
5 - imports path as path
6 other calls f
7 main calls parse
8 inner calls g
9 main calls h
9 main calls k
11 arrow calls x.go
13 block calls x?.run
13 block calls z
15 old calls .test
16 m calls .exec
17 - calls anon
`},
		"classes": {"a.js", `// Of B
class B extends ns.A {
  static #count = 0
  handler = (e) => { this.on(e) }
  constructor(x) { super(x); }
  get size() { return 1 }
  static async *each(f) { yield* f() }
  if(x) { return x }
}
const C = class extends mixin(B) { m() {} }
const api = {
  get(id) { return fetch(id) },
  'post-it': async () => { send() },
  nested: { f: function () {} },
}
if (a) { b() }
`, `
class B 2-9 in -
func handler 4-4 in B
func constructor 5-5 in B
func size 6-6 in B
func each 7-7 in B
func if 8-8 in B
class C 10-10 in -
func m 10-10 in C
var api 11-15 in -
func get 12-12 in api
func post-it 13-13 in api
func f 14-14 in api
2 B inherits ns.A
4 handler calls this.on
5 constructor calls super
7 each calls f
10 C calls mixin
12 get calls fetch
13 post-it calls send
16 - calls b
`},
		"jsx": {"a.jsx", `export function List({ items }) {
  const n = items.length < 3 ? 1 : 2
  return <div className="it's" {...rest(n)}>
    It's {items.map(i => <Item key={i} on={() => { go(i) }} />)} }}
    <><ns.Part/> don't // no comment
    </>
  </div>
}
function after() { return a < b }
`, `
func List 1-8 in -
func after 9-9 in -
3 List calls rest
4 List calls items.map
4 List calls Item
4 List calls go
5 List calls ns.Part
`},
		"typescript": {"a.ts", `import type { T } from './t'
@Component({ selector: f() })
export abstract class S<T extends { a: 1 }> extends Base<T> implements I, ns.J<X> {
  constructor(private readonly http: Http, @Inject(TOKEN) x?: string) { super() }
  @Input() name: string = make()
  abstract area(): number
  get<K>(k: K): { [x: string]: K } { return <any>this.http.get<K>(k) }
  on: (e: Event) => void = (e) => { this.emit(e) }
}
interface I<T> extends A, B<T> { f(x: number): void }
export const enum E { A = 1, B }
type Alias<T> = { a: T } | (() => void)
declare function over(x: string): void
export function typed<T>(x: T): x is string { return over(x) }
namespace N.M { export function inN() {} }
const g: Map<string, () => void> = new Map<string, () => void>()
export const fc: React.FC<P> = ({ a }): JSX.Element => { return a }
export function last<T>(a: T): Array<T>
export function last(a) { return { default() { in_(a) } } }
const isMap = (v: unknown): v is Map<any, any> =>
  is(v)
type Long = Map<
  string,
  A<B>
>
class Fields {
  private a: Map<A, B>
  get b() { return 1 }
}
`, `
class S 3-9 in - @2
func constructor 4-4 in S
func area 6-6 in S
func get 7-7 in S
func on 8-8 in S
class I 10-10 in -
class E 11-11 in -
class Alias 12-12 in -
func over 13-13 in -
func typed 14-14 in -
func inN 15-15 in -
var g 16-16 in -
func fc 17-17 in -
func last 18-18 in -
func last 19-19 in -
func default 19-19 in last
func isMap 20-21 in -
class Long 22-25 in -
class Fields 26-29 in -
func b 28-28 in Fields
1 - imports ./t T
2 S decorates Component
2 S calls Component
2 S calls f
3 S inherits Base
3 S inherits I
3 S inherits ns.J
4 constructor decorates Inject
4 constructor calls Inject
4 constructor calls super
5 S decorates Input
5 S calls Input
5 S calls make
7 get calls this.http.get
8 on calls this.emit
10 I inherits A
10 I inherits B
14 typed calls over
16 g calls Map
19 default calls in_
21 isMap calls is
`},
	} {
		t.Run(name, func(t *testing.T) { checkOutline(t, c.path, c.src, c.want) })
	}
}
