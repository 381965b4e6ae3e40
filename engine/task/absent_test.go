package task

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"rollbench/engine/task/testlog"
	"rollbench/sandbox"
)

// A policy whose patch stands in the way of the tests, or ends them, has failed: it
// cannot have the reward absent. A good patch beside it is a good patch.
func TestPolicyCannotHaveTheRewardAbsent(t *testing.T) {
	in := &Instance{ID: "x", Workdir: "/testbed"}
	h := openHost(t, in)
	h.sh(t, gitSetup+wrongSum+`
commit base; cp -r . ../seed; git rev-parse HEAD >../base
mkdir tests/deep; touch tests/deep/__init__.py
printf 'import unittest\nimport calc\nclass T(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(calc.add(1, 2), int(open("tests/data/three").read()))\n' >tests/deep/test_add.py
echo "# more" >>tests/test_calc.py
git add -A; git diff --cached >../test.patch`)
	ins, err := rowsOf(t, fmt.Appendf(nil, `{"instance_id":"t__calc-1","repo":"t/calc","base_commit":%q,"problem_statement":"add subtracts","test_patch":%q,"image":"x:1","log_parser":"unittest","test_cmd":"python3 -m unittest -v","FAIL_TO_PASS":["test_add (tests.deep.test_add.T.test_add)"],"PASS_TO_PASS":["test_zero (tests.test_calc.T.test_zero)"]}`,
		h.sh(t, "cat ../base"), h.sh(t, "cat ../test.patch")+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	const gold = "sed -i 's/a - b/a + b/' calc.py; "
	for name, c := range map[string]struct {
		script string
		want   float64
	}{
		"gold":                      {gold, 1},
		"a file for a new folder":   {"echo x >tests/deep", 0},
		"a link for a new folder":   {"mkdir other; touch other/x; ln -s ../other tests/deep; " + gold, 1},
		"a file for all tests":      {"git rm -rq tests; echo x >tests; " + gold, 1},
		"folders for tests":         {"mkdir -p tests/deep/test_add.py/x; echo >tests/deep/test_add.py/x/y; rm tests/test_calc.py; mkdir tests/test_calc.py; echo >tests/test_calc.py/x; " + gold, 1},
		"a file for what is needed": {"echo x >tests/data; " + gold, 1},
		"ends the script":           {`printf 'import os\nos.kill(os.getppid(), 9)\n' >calc.py`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work, fresh := openHost(t, &ins[0]), openHost(t, &ins[0])
			for _, one := range []*host{work, fresh} {
				one.sh(t, "cp -r "+h.Path("/seed")+"/. .")
			}
			if err := ins[0].Prepare(t.Context(), work); err != nil {
				t.Fatal(err)
			}
			work.sh(t, c.script)
			moved := *ins[0].kind.(*swebench)
			moved.script = strings.ReplaceAll(moved.script, "cd /testbed", "cd "+fresh.work)
			moved.assets = fstest.MapFS{"tests/data/three": {Data: []byte("3")}}
			one := ins[0]
			one.kind = &moved
			got, err := one.Verify(t.Context(), fresh, takePatch(t, &one, work))
			if err != nil || !sameReward(got.Reward, &c.want) {
				t.Errorf("%v %q, %v\n%s", got.Reward, got.Note, err, got.Log)
			}
		})
	}
}

// chatty is a sandbox whose commands print more than is kept.
type chatty struct {
	*host
	head, tail string
}

func (c chatty) Exec(context.Context, sandbox.Command) (sandbox.Result, error) {
	return sandbox.Result{Output: []byte(c.head + c.tail), Head: len(c.head), Dropped: 7, End: sandbox.Exited}, nil
}

// Of output that is too long what is kept decides, and where a test that is missing
// would pass nothing does.
func TestLongOutputIsGraded(t *testing.T) {
	parser, err := testlog.Choose(testlog.Row{LogParser: "pytest"})
	if err != nil {
		t.Fatal(err)
	}
	const start, end = ": '>>>>> Start Test Output'\nxxx", "xx\nPASSED t::b\nPASSED t::a\n+ SWEBENCH_TEST_EXIT_CODE=0\n: '>>>>> End Test Output'\n"
	const long = "; the output is longer than 67108864 bytes, and its middle was not read"
	for name, c := range map[string]struct {
		rules      testlog.Rules
		head, tail string
		want       float64
		note       string
	}{
		"passes":         {testlog.Rules{}, start, end, 1, "1 of 1 fixed, 1 of 1 kept"},
		"fails":          {testlog.Rules{}, start, strings.Replace(end, "PASSED t::a", "FAILED t::a", 1), 0, "0 of 1 fixed, 1 of 1 kept"},
		"was cut away":   {testlog.Rules{}, start, strings.Replace(end, "PASSED t::b", "", 1), 0, "1 of 1 fixed, 0 of 1 kept"},
		"failures alone": {testlog.Rules{FailOnly: true}, start, end, 0, "1 of 1 fixed, 1 of 1 kept, as far as can be seen"},
		"no end":         {testlog.Rules{}, start, "xx\n", 0, "the evaluation was ended by its tests"},
	} {
		c.rules.Parser, c.rules.FailToPass, c.rules.PassToPass = parser, []string{"t::a"}, []string{"t::b"}
		in := &Instance{ID: "x", Workdir: "/testbed", kind: &swebench{script: marked("pytest"), grading: grading{c.rules}}}
		got, err := in.kind.verify(t.Context(), in, chatty{openHost(t, in), c.head, c.tail})
		if err != nil || !sameReward(got.Reward, &c.want) || got.Note != c.note+long {
			t.Errorf("%s: %v %q, %v", name, got.Reward, got.Note, err)
		}
	}
}
