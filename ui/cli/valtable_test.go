package cli

import "testing"

// A val_config that is no table is a mistake, not an empty one.
func TestValidationIsATable(t *testing.T) {
	a := testApp(t)
	a.flags.set = []string{"dispatcher.val_config=3"}
	if _, err := a.load(); err == nil {
		t.Error("val_config = 3 was accepted")
	}
}
