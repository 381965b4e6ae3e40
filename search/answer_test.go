package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Each test here is for a fault of the search script that this package replaces.

func TestTestFilesAreIndexed(t *testing.T) {
	v := shopView(t)
	wantIDs(t, v, named("test_add_item"), "tests/test_cart.py:test_add_item")
	for path, want := range map[string]bool{
		"tests/a.py": true, "a/test/b.py": true, "test_a.py": true, "a_test.go": true, "conftest.py": true, "django/tests.py": true,
		"src/a.spec.ts": true, "UserTest.java": true, "contest.py": false, "latest/a.py": false, "attest_a.py": false, "a/testament.py": false,
	} {
		if isTest(path) != want {
			t.Errorf("isTest(%q) is not %v", path, want)
		}
	}
}

func TestAnEditIsSeenByTheNextQuery(t *testing.T) {
	v := shopView(t)
	edited := strings.Replace(shop["shop/cart.py"], "def prices(self):", "def list_prices(self):", 1)
	if err := v.Update("shop/cart.py", []byte("# a new first line\n"+edited)); err != nil {
		t.Fatal(err)
	}
	wantIDs(t, v, named("list_prices"), "shop/cart.py:Cart.list_prices")
	hits, err := v.Hits(named("Cart.add_item"))
	if err != nil || len(hits) != 1 || hits[0].Start != 12 {
		t.Errorf("lines did not follow the edit: %+v %v", hits, err)
	}
	if got := ids(t, v, named("prices")); len(got) > 0 && got[0] == "shop/cart.py:Cart.prices" {
		t.Error("a name that is gone is still found")
	}
	wantIDs(t, v, named("callers:Store.save"), "shop/cart.py:Cart.add_item")

	if err := v.Update("shop/voucher.py", []byte("def redeem_voucher(code):\n    return code\n")); err != nil {
		t.Fatal(err)
	}
	wantIDs(t, v, named("redeem_voucher"), "shop/voucher.py:redeem_voucher")
	if got := ids(t, v, named("redeem a code of a voucher")); got[0] != "shop/voucher.py:redeem_voucher" {
		t.Errorf("free text: %q", got)
	}
	if err := v.Update("docs/new.rst", []byte("About the zeppelin.\n")); err != nil {
		t.Fatal(err)
	}
	wantIDs(t, v, named("about zeppelin flights"), "docs/new.rst")
	if changed, _ := v.Changed(); fmt.Sprint(changed) != "[docs/new.rst shop/cart.py shop/voucher.py]" {
		t.Errorf("changed: %v", changed)
	}

	if err := v.Remove("shop/voucher.py"); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids(t, v, named("redeem_voucher")) {
		if strings.HasPrefix(id, "shop/voucher.py") {
			t.Error("a removed file is still found")
		}
	}
	if err := v.Update("shop/cart.py", []byte(shop["shop/cart.py"])); err != nil {
		t.Fatal(err)
	}
	wantIDs(t, v, named("prices"), "shop/cart.py:Cart.prices")
	if changed, _ := v.Changed(); fmt.Sprint(changed) != "[docs/new.rst]" {
		t.Errorf("changed after taking an edit back: %v", changed)
	}
}

// Two trajectories share a base and do not see each other's edits.
func TestViewsAreApart(t *testing.T) {
	a := shopView(t)
	b := &View{index: a.index}
	if err := a.Update("shop/only_a.py", []byte("def only_in_a(): pass\n")); err != nil {
		t.Fatal(err)
	}
	if err := a.Remove("shop/money.py"); err != nil {
		t.Fatal(err)
	}
	wantIDs(t, b, named("round_price"), "shop/money.py:round_price")
	for _, id := range ids(t, b, named("only_in_a")) {
		if strings.Contains(id, "only_a.py") {
			t.Error("an edit of one view is seen in the other")
		}
	}
}

// An overlay ranks as a base made of the same files does: same hits, same order.
func TestOverlayRanksAsABaseDoes(t *testing.T) {
	edited := shop["shop/cart.py"] + "\n\ndef pay_by_card(card):\n    \"\"\"Pay what is in the cart by card.\"\"\"\n    return card\n"
	v := shopView(t)
	if err := v.Update("shop/cart.py", []byte(edited)); err != nil {
		t.Fatal(err)
	}
	var files []File
	for p, c := range shop {
		if p == "shop/cart.py" {
			c = edited
		}
		files = append(files, File{p, []byte(c)})
	}
	q := named("pay the total by card")
	if got, want := ids(t, v, q)[0], ids(t, Build(files).View(), q)[0]; got != want || got != "shop/cart.py:pay_by_card" {
		t.Errorf("overlay %s, base %s", got, want)
	}
}

func TestMisspeltNameFindsSomething(t *testing.T) {
	v := shopView(t)
	for wrong, want := range map[string]string{
		"ad_item": "shop/cart.py:Cart.add_item", "round_prcie": "shop/money.py:round_price", "Carrt": "shop/cart.py:Cart",
		"Cart.ad_itme": "shop/cart.py:Cart.add_item", "empty_crat": "shop/cart.py:empty_cart",
	} {
		if got := ids(t, v, named(wrong)); !slices.Contains(got[:min(3, len(got))], want) {
			t.Errorf("%s: %s, want %s", wrong, got, want)
		}
	}
}

func TestLineNumbers(t *testing.T) {
	v := shopView(t)
	a := v.Query(Query{Path: "shop/cart.py", Lines: []int{14, 23, 5}})
	mustContain(t, a.Text, "shop/cart.py:Cart.add_item", "    14\t            raise ValueError(\"too many of one item\")",
		"shop/cart.py:Cart.prices", "     5\tLIMIT = 99")
	wantIDs(t, v, Query{Path: "shop/cart.py", Lines: []int{14}}, "shop/cart.py:Cart.add_item")
	a = v.Query(Query{Path: "shop/cart.py", Lines: []int{900}})
	mustContain(t, a.Text, "lines 1 to 29")
	a = v.Query(Query{Path: "shop/*.py", Lines: []int{1}})
	mustContain(t, a.Text, "not one file")
	a = v.Query(Query{Path: "cart.py", Lines: []int{14}})
	mustContain(t, a.Text, "shop/cart.py")
}

func TestPathFilterDoesNotLeak(t *testing.T) {
	v := shopView(t)
	for _, path := range []string{"tests", "tests/**", "tests/*.py", "tests/test_cart.py", "./tests/", "**/test_*.py"} {
		for _, q := range []Query{
			named("Cart"), named("total"), named("ttoal"), named("empty the cart of its owner"), named("callers:Cart"), named("*"),
			named("shop/cart.py"), {Pattern: "assert $A == $B"}, {Terms: []string{"add_item"}, Kind: "text"},
		} {
			q.Path = path
			for _, id := range ids(t, v, q) {
				if !strings.HasPrefix(id, "tests/") {
					t.Errorf("%+v found %s", q, id)
				}
			}
		}
	}
	a := v.Query(Query{Terms: []string{"Cart"}, Path: "shoop/cart.py"})
	mustContain(t, a.Text, "No file matches", "shop/cart.py")
}

func TestNeverEmpty(t *testing.T) {
	v := shopView(t)
	for _, q := range []Query{
		{}, named("qqqqqqqq"), named("   "), named("*.zig"), {Pattern: "$$$"}, {Pattern: "while True: $$$"}, {Lines: []int{3}},
		{Terms: []string{"Cart"}, Path: "nowhere"}, {Terms: []string{"Cart"}, Path: "shop", Kind: "function"}, named("callers:LIMIT"),
		named("callers:nobody_knows"), named("no/such/file.py"), {Path: "shop"},
	} {
		a := v.Query(q)
		if strings.TrimSpace(a.Text) == "" || strings.HasSuffix(a.Text, "0 found") {
			t.Errorf("%+v: %q", q, a.Text)
		}
	}
}

func TestAnswerIsNothingButTheAnswer(t *testing.T) {
	a := shopView(t).Query(named("Cart.total"))
	want := "Cart.total: 1 found\n" +
		"shop/cart.py:Cart.total (method, lines 18-19) def total(self)\n" +
		"    18\t    def total(self):\n" +
		"    19\t        return rounded(sum(self.prices()))"
	if a.Text != want {
		t.Errorf("got\n%s\nwant\n%s", a.Text, want)
	}
}

func TestHintsAreTheNextQueries(t *testing.T) {
	v := shopView(t)
	a := v.Query(named("Cart.add_item"))
	if len(a.Hints) != 1 || a.Hints[0].Query.Terms[0] != "tests/test_cart.py:test_add_item" {
		t.Errorf("got %+v", a.Hints)
	}
	a = v.Query(named("Store.total"))
	var asked []string
	for _, h := range a.Hints {
		asked = append(asked, h.Query.Terms...)
		if got := v.Query(h.Query); got.Found == 0 {
			t.Errorf("the hint %q finds nothing", h.Text)
		}
	}
	if strings.Join(asked, " ") != "callers:shop/base.py:Store.total overridden:shop/base.py:Store.total tests/test_cart.py:test_empty" {
		t.Errorf("got %q", asked)
	}
}

func TestLimitOfCharacters(t *testing.T) {
	var s strings.Builder
	for i := range 400 {
		fmt.Fprintf(&s, "def handler_%03d(request):\n    return %d\n\n", i, i)
	}
	v := Build([]File{{"handlers.py", []byte(s.String())}}).View()
	for _, limit := range []int{400, 1000, 5000} {
		a := v.Query(Query{Terms: []string{"handler_*", "request handler"}, Limit: 300, MaxChars: limit})
		if len(a.Text) > limit {
			t.Errorf("%d characters of at most %d", len(a.Text), limit)
		}
		mustContain(t, a.Text, "more not shown", "handler_000")
	}
	one, two := v.Query(named("handler_*")), v.Query(named("handler_*"))
	if one.Text != two.Text {
		t.Error("the same query has two answers")
	}
}

func TestLongCodeIsASkeleton(t *testing.T) {
	var s strings.Builder
	s.WriteString("class Big:\n    \"\"\"Has many methods.\"\"\"\n")
	for i := range 100 {
		fmt.Fprintf(&s, "\n    def method_%d(self):\n        hidden_body = %d\n", i, i)
	}
	v := Build([]File{{"big.py", []byte(s.String())}}).View()
	a := v.Query(named("Big"))
	mustContain(t, a.Text, "     1\tclass Big:", "     4\t    def method_0(self):", "   301\t    def method_99(self):")
	if strings.Contains(a.Text, "hidden_body") {
		t.Error("the skeleton shows bodies")
	}
}
