package infer

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
)

func decodeAnswer(data []byte, a *answer) error { return json.Unmarshal(data, a) }

// checkTokenIDs holds our decoder to the standard one's result: what it takes,
// we take alike, but for numbers below 0.
func checkTokenIDs(t *testing.T, data []byte) {
	t.Helper()
	var ours tokenIDs
	var theirs []int32
	err1, err2 := json.Unmarshal(data, &ours), json.Unmarshal(data, &theirs)
	for _, id := range theirs {
		if id < 0 {
			return
		}
	}
	if err2 == nil && (err1 != nil || !reflect.DeepEqual([]int32(ours), theirs)) {
		t.Fatalf("%q: %v, %v; the standard decoder: %v", data, ours, err1, theirs)
	}
	if err1 == nil && err2 != nil {
		t.Fatalf("%q: %v taken, the standard decoder: %v", data, ours, err2)
	}
}

func TestTokenIDs(t *testing.T) {
	for _, s := range []string{"[]", "[1, 2 ,3]", "null", "[2147483647]", "[2147483648]", "[1.5]", "[1e2]", "{}", "[[1]]", `["1"]`, "[true]"} {
		checkTokenIDs(t, []byte(s))
	}
	var ids tokenIDs
	if json.Unmarshal([]byte("[-1]"), &ids) == nil {
		t.Error("a negative id was taken")
	}
}

func BenchmarkDecodeAnswer32k(b *testing.B) {
	ids := make([]int32, 32768)
	for i := range ids {
		ids[i] = int32(i*7) % 151000
	}
	list, err := json.Marshal(ids)
	if err != nil {
		b.Fatal(err)
	}
	data := fmt.Appendf(nil, `{"prompt_token_ids":%s,"choices":[{"finish_reason":"stop","token_ids":[1]}]}`, list)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		var a answer
		if err := json.Unmarshal(data, &a); err != nil {
			b.Fatal(err)
		}
	}
}
