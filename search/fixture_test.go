package search

import (
	"strings"
	"testing"
)

// shop is a small repository, whose lines the tests count by hand.
var shop = map[string]string{
	"shop/__init__.py": "from shop.cart import Cart\n",
	"shop/cart.py": `"""Carts of a shop."""
from shop.base import Store
from .money import round_price as rounded

LIMIT = 99


class Cart(Store):
    """What a customer wants to buy."""

    def add_item(self, item, count=1):
        """Put an item in."""
        if count > LIMIT:
            raise ValueError("too many of one item")
        self.save(item)
        return self.total()

    def total(self):
        return rounded(sum(self.prices()))

    def prices(self):
        try:
            return [i.price for i in self.items]
        except AttributeError:
            pass


def empty_cart(owner):
    return Cart(owner)
`,
	"shop/base.py": `class Store:
    def save(self, item):
        self.items.append(item)

    def total(self):
        raise NotImplementedError


class Box(Store):
    def total(self):
        return 0
`,
	"shop/money.py": `def round_price(value, digits=2):
    """Round a price to cents."""
    return round(value, digits)
`,
	"tests/test_cart.py": `from shop import Cart
from shop.cart import empty_cart


def test_add_item():
    cart = Cart()
    assert cart.add_item(3) == 3


def test_empty():
    assert empty_cart(1).total() == 0
`,
	"docs/guide.rst":    "Guide\n=====\n\nThe voucher code is typed in at the till.\n",
	"build/out.py":      "def built(): pass\n",
	".gitignore":        "build/\n*.log\n",
	"run.log":           "secret_marker\n",
	"shop/logo.png":     "\x89PNG\x00\x00",
	"shop/gen_pb2.py":   "def generated_total(): pass\n",
	"web/app.js":        "function addItem(cart) {\n  return cart.total();\n}\n",
	"shop/broken.py":    "def before():\n    return 1\n\ndef broken(:\n    return (\n",
	"shop/unicode.py":   "def größe(maß):\n    return maß\n",
	"empty.py":          "",
	"shop/tags.py":      "class Tag:\n    @cached(60)\n    def label(self):\n        return self.text\n",
	"shop/windows.py":   "def crlf():\r\n    return 1\r\n",
	"node_modules/x.js": "function hiddenAway() {}\n",
}

func shopView(t *testing.T) *View {
	t.Helper()
	var files []File
	for p, c := range shop {
		files = append(files, File{p, []byte(c)})
	}
	return Build(files).View()
}

func ids(t *testing.T, v *View, q Query) []string {
	t.Helper()
	hits, err := v.Hits(q)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, h := range hits {
		out = append(out, h.ID())
	}
	return out
}

func named(t string) Query { return Query{Terms: []string{t}} }

func wantIDs(t *testing.T, v *View, q Query, want ...string) {
	t.Helper()
	got := ids(t, v, q)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%+v:\n got %q\nwant %q", q, got, want)
	}
}

func mustContain(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is not in the answer:\n%s", p, text)
		}
	}
}
