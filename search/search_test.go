package search

import (
	"fmt"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	v := shopView(t)
	for _, c := range []struct {
		term string
		want []string
	}{
		{"add_item", []string{"shop/cart.py:Cart.add_item", "web/app.js:addItem"}},
		{"Cart.add_item", []string{"shop/cart.py:Cart.add_item"}},
		{"cart.py:Cart.add_item", []string{"shop/cart.py:Cart.add_item"}},
		{"shop/cart.py:Cart.add_item()", []string{"shop/cart.py:Cart.add_item"}},
		{"shop.cart.Cart.add_item", []string{"shop/cart.py:Cart.add_item"}},
		{"class Cart(Store):", []string{"shop/cart.py:Cart"}},
		{"def round_price", []string{"shop/money.py:round_price"}},
		{"ROUND_PRICE", []string{"shop/money.py:round_price"}},
		{"roundPrice", []string{"shop/money.py:round_price"}},
		{"`LIMIT`", []string{"shop/cart.py:LIMIT"}},
		{"Store.total", []string{"shop/base.py:Store.total"}},
		{"*_price", []string{"shop/money.py:round_price"}},
		{"Cart.*s", []string{"shop/cart.py:Cart.prices"}},
		{"shop/cart.py", []string{"shop/cart.py"}},
		{"cart.py", []string{"shop/cart.py"}},
		{"shop.money", []string{"shop/money.py"}},
		{"größe", []string{"shop/unicode.py:größe"}},
		{"before", []string{"shop/broken.py:before"}},
	} {
		t.Run(c.term, func(t *testing.T) { wantIDs(t, v, named(c.term), c.want...) })
	}
}

func TestHitHasExactLines(t *testing.T) {
	hits, err := shopView(t).Hits(named("Cart.add_item"))
	if err != nil || len(hits) != 1 {
		t.Fatal(hits, err)
	}
	h := hits[0]
	if h.Kind != "method" || h.Name != "add_item" || h.Qualified != "Cart.add_item" || h.Start != 11 || h.End != 16 {
		t.Errorf("got %+v", h)
	}
}

func TestRelations(t *testing.T) {
	v := shopView(t)
	for _, c := range []struct {
		term string
		want []string
	}{
		{"callers:round_price", []string{"shop/cart.py:Cart.total"}}, // through "import … as"
		{"callers:Store.save", []string{"shop/cart.py:Cart.add_item"}},
		{"callers:Cart", []string{"shop/cart.py:empty_cart", "tests/test_cart.py:test_add_item"}}, // through __init__
		{"calls:Cart.add_item", []string{"shop/base.py:Store.save", "shop/cart.py:Cart.total"}},
		{"subclasses:Store", []string{"shop/base.py:Box", "shop/cart.py:Cart"}},
		{"bases:Cart", []string{"shop/base.py:Store"}},
		{"overrides:Cart.total", []string{"shop/base.py:Store.total"}},
		{"overridden:Store.total", []string{"shop/base.py:Box.total", "shop/cart.py:Cart.total"}},
		{"importers:shop/money.py", []string{"shop/cart.py"}},
		{"importers:empty_cart", []string{"tests/test_cart.py"}},
		{"imports:shop/cart.py", []string{"shop/base.py:Store", "shop/money.py:round_price"}},
		{"members:Store", []string{"shop/base.py:Store.save", "shop/base.py:Store.total"}},
		{"tests:empty_cart", []string{"tests/test_cart.py:test_empty"}},
		{"tests:Cart.add_item", []string{"tests/test_cart.py:test_add_item"}},
	} {
		t.Run(c.term, func(t *testing.T) { wantIDs(t, v, named(c.term), c.want...) })
	}
}

func TestPatterns(t *testing.T) {
	v := shopView(t)
	for _, c := range []struct {
		pattern string
		want    string // path:start-end of each, in order
	}{
		{"except $E: pass", "shop/cart.py:24-25"},
		{"raise ValueError($$$)", "shop/cart.py:14-14"},
		{"raise $E", "shop/base.py:6-6 shop/cart.py:14-14"},
		{"def $F($$$): … raise $E", "shop/base.py:5-6 shop/cart.py:11-16"},
		{"class $C($$$, Store, $$$):", "shop/base.py:9-11 shop/cart.py:8-25"},
		{"self.$M(item)", "shop/base.py:3-3 shop/cart.py:15-15"}, // $M is items.append there
		{"def $F(self, $A, $B=1)", "shop/cart.py:11-16"},
		{"$A == $A", ""},
		{"@cached($$$) def $F(self):", "shop/tags.py:3-4"},
		{"@$D def $F($$$): return $X", "shop/tags.py:3-4"},
	} {
		t.Run(c.pattern, func(t *testing.T) {
			hits, err := v.Hits(Query{Pattern: c.pattern})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, h := range hits {
				got = append(got, fmt.Sprintf("%s:%d-%d", h.Path, h.Start, h.End))
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %q want %q", got, c.want)
			}
		})
	}
}

func TestFreeText(t *testing.T) {
	v := shopView(t)
	first := func(text string) string { return append(ids(t, v, named(text)), "")[0] }
	for text, want := range map[string]string{
		"put an item in the cart when there are too many": "shop/cart.py:Cart.add_item",
		"prices are not rounded to cents":                 "shop/money.py:round_price",
		"voucher code at the till":                        "docs/guide.rst",
	} {
		if got := first(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	hits, err := v.Hits(named(`"too many of one item"`))
	if err != nil || len(hits) == 0 || hits[0].Kind != "text" || hits[0].Start != 14 {
		t.Errorf("a literal text was not found first: %+v %v", hits, err)
	}
}

func TestWhatIsLeftOut(t *testing.T) {
	v := shopView(t)
	for _, name := range []string{"built", "hiddenAway", "secret_marker"} {
		for _, id := range ids(t, v, named(name)) {
			if strings.HasPrefix(id, "build/") || strings.HasPrefix(id, "node_modules/") || id == "run.log" {
				t.Errorf("%s found %s", name, id)
			}
		}
	}
	wantIDs(t, v, named("shop/logo.png"), "shop/logo.png") // its name is known
	wantIDs(t, v, named("generated_total"), "shop/gen_pb2.py:generated_total")
}

func TestKindFilter(t *testing.T) {
	v := shopView(t)
	wantIDs(t, v, Query{Terms: []string{"total"}, Kind: "method", Path: "shop"}, "shop/base.py:Store.total", "shop/base.py:Box.total", "shop/cart.py:Cart.total")
	wantIDs(t, v, Query{Terms: []string{"*cart*"}, Kind: "class"})
	wantIDs(t, v, Query{Terms: []string{"*Cart*"}, Kind: "class"}, "shop/cart.py:Cart")
	wantIDs(t, v, Query{Terms: []string{"*"}, Kind: "test"}, "tests/test_cart.py:test_add_item", "tests/test_cart.py:test_empty")
	wantIDs(t, v, Query{Terms: []string{"cart"}, Kind: "directory"})
	wantIDs(t, v, Query{Terms: []string{"shop/"}, Kind: "directory"}, "shop")
	hits, err := v.Hits(Query{Terms: []string{"RAISE valueerror"}, Kind: "text"})
	if err != nil || len(hits) != 1 || hits[0].Path != "shop/cart.py" || hits[0].Start != 14 {
		t.Errorf("got %+v %v", hits, err)
	}
	if a := v.Query(Query{Terms: []string{"x"}, Kind: "gadget"}); !strings.Contains(a.Text, "method, variable") {
		t.Errorf("an unknown kind: %q", a.Text)
	}
}
