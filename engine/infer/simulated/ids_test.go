package simulated

import (
	"encoding/json"
	"reflect"
	"testing"
)

// Lists of ids are read as the standard decoder reads them.
func FuzzIDList(f *testing.F) {
	for _, s := range []string{"[]", "[1,2]", "[ 1, 22 ,333]", "[-1]", "[1.5]", "[1e2]", "null", `"a"`, "[[1]]", "[123456789]", "[1234567890]", "[9999999999]", "7", "[null]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var ours idList
		var theirs []int32
		err1, err2 := json.Unmarshal(data, &ours), json.Unmarshal(data, &theirs)
		if (err1 == nil) != (err2 == nil) || err1 == nil && !reflect.DeepEqual([]int32(ours), theirs) {
			t.Fatalf("%q: %v, %v; the standard decoder: %v, %v", data, ours, err1, theirs, err2)
		}
	})
}
