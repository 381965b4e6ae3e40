package task

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"rollbench/engine/task/rows"
	"rollbench/engine/task/testlog"
	"rollbench/sandbox"
)

// What make_test_spec of the SWE-bench harness at v4.1.0 (726c5461; of gson, druid,
// tokio and lucene at 6cd91d8c; swebench/harness/test_spec/test_spec.py) puts between
// the test patch and the start marker, and between the markers.
func TestRecipes(t *testing.T) {
	const gson, druid = "mvnd test -B -pl gson -Dtest=com.google.gson.", "mvnd test -B -pl processing -Dtest=org.apache.druid."
	const chart = `xvfb-run --server-args="-screen 0 1280x1024x24 -ac :99" su chromeuser -c `
	for _, c := range []struct {
		repo, version string
		build, test   []string
	}{
		{"redis/redis", "12272", []string{"make distclean", "make"}, []string{`TERM=dumb ./runtest --durable --single unit/type/string --only "/.*(GETRANGE|SETRANGE).*"`}},
		{"jqlang/jq", "2681", []string{"git submodule update --init", "autoreconf -fi", "./configure --with-oniguruma=builtin", "make clean", "touch src/parser.y src/lexer.l", "make -j$(nproc)"}, []string{"make check"}},
		{"nlohmann/json", "4237", []string{"mkdir -p build", "cd build", "cmake ..", "make test-udt_cpp11", "cd .."}, []string{"./build/tests/test-udt_cpp11 -s -r=xml"}},
		{"micropython/micropython", "12158", []string{"source ./tools/ci.sh", "ci_unix_build_helper VARIANT=standard", "gcc -shared -o tests/unix/ffi_lib.so tests/unix/ffi_lib.c"},
			[]string{"cd tests", "MICROPY_CPYTHON3=python3 MICROPY_MICROPYTHON=../ports/unix/build-standard/micropython ./run-tests.py -d thread"}},
		{"micropython/micropython", "10095", []string{"source ./tools/ci.sh", "ci_unix_build_helper VARIANT=standard"},
			[]string{"cd tests", "MICROPY_CPYTHON3=python3 MICROPY_MICROPYTHON=../ports/unix/build-standard/micropython ./run-tests.py -i basics/fun"}},
		{"valkey-io/valkey", "790", []string{"make distclean", "make"}, []string{"TERM=dumb ./runtest --durable --single unit/cluster/cluster-shards"}},
		{"fmtlib/fmt", "2310", []string{"mkdir -p build", "cmake -B build -S .", "cmake --build build --parallel $(nproc) --target format-test"}, []string{"ctest --test-dir build -V -R format-test"}},

		{"caddyserver/caddy", "4774", nil, []string{`go test -v ./caddytest/integration -run "TestCaddyfileAdapt*"`}},
		{"hashicorp/terraform", "34900", nil, []string{`go test -v ./internal/terraform -run "(^TestContext2Apply|^TestContext2Plan).*[Ss]ensitive"`}},
		{"prometheus/prometheus", "13845", nil, []string{`go test -v ./promql ./model/labels -run "^(TestRangeQuery|TestLabels)"`}},
		{"gin-gonic/gin", "4003", nil, []string{`go test . -v -run "TestMethodNotAllowedNoRoute"`}},
		{"gin-gonic/gin", "1805", nil, []string{`go test -v . -run "^Test.*Router"`}},

		{"google/gson", "2311", nil, []string{gson + "JsonPrimitiveTest#testEqualsIntegerAndBigInteger", gson + "JsonPrimitiveTest#testLongEqualsBigInteger", gson + "JsonPrimitiveTest#testEqualsAcrossTypes"}},
		{"apache/druid", "15402", nil, []string{druid + "query.groupby.GroupByQueryQueryToolChestTest#testCacheStrategy", druid + "query.groupby.GroupByQueryQueryToolChestTest#testResultLevelCacheKeyWithSubTotalsSpec", druid + "query.groupby.GroupByQueryQueryToolChestTest#testMultiColumnCacheStrategy"}},
		{"javaparser/javaparser", "4538", []string{"./mvnw clean install -B -pl javaparser-core-testing -DskipTests -am"}, []string{"./mvnw test -B -pl javaparser-core-testing -Dtest=NodeTest", "./mvnw test -B -pl javaparser-core-testing -Dtest=NodePositionTest"}},
		{"projectlombok/lombok", "3009", []string{"ant test.compile"}, []string{"ant test.instance"}},
		{"apache/lucene", "12022", nil, []string{"./gradlew test --tests org.apache.lucene.document.TestLatLonShape"}},
		{"apache/lucene", "13170", nil, []string{"./gradlew test --tests org.apache.lucene.analysis.opennlp.TestOpenNLPSentenceBreakIterator -Ptests.useSecurityManager=false"}},

		{"chartjs/Chart.js", "4.0", nil, []string{"pnpm install", "pnpm run build", chart + `"./node_modules/.bin/cross-env NODE_ENV=test ./node_modules/.bin/karma start ./karma.conf.cjs --single-run --coverage --grep --auto-watch false"`}},
		{"chartjs/Chart.js", "4", nil, []string{"pnpm install", "pnpm run build", chart + `"./node_modules/.bin/cross-env NODE_ENV=test ./node_modules/.bin/karma start ./karma.conf.cjs --single-run --coverage --grep --auto-watch false"`}},
		{"chartjs/Chart.js", "2.9", nil, []string{"npm install", "gulp build", chart + `"gulp test"`}},
		{"processing/p5.js", "0.10", nil, []string{"sed -i 's/concurrency:[[:space:]]*[0-9][0-9]*/concurrency: 1/g' Gruntfile.js", "stdbuf -o 1M ./node_modules/.bin/grunt test --quiet --force"}},
		{"diegomura/react-pdf", "1.2", nil, []string{"./node_modules/.bin/jest --no-color"}},
		{"diegomura/react-pdf", "2.0", nil, []string{`NODE_OPTIONS="--experimental-vm-modules" ./node_modules/.bin/jest --no-color`}},
		{"babel/babel", "15445", []string{"make build"}, []string{`yarn jest packages/babel-generator/test/index.js -t "generation " --verbose`}},
		{"vuejs/core", "11899", []string{"pnpm run build compiler-sfc"}, []string{"pnpm run test packages/compiler-sfc/__tests__/compileStyle.spec.ts --no-watch --reporter=verbose"}},
		{"immutable-js/immutable-js", "2005", []string{"npm run build"}, []string{`npx jest __tests__/OrderedMap.ts __tests__/OrderedSet.ts --silent --json | jq -r '.testResults[].assertionResults[] | "[" + (.status | ascii_upcase) + "] " + ((.ancestorTitles | join(" > ")) + (if .ancestorTitles | length > 0 then " > " else "" end) + .title)'`}},
		{"axios/axios", "5316", []string{"npm install"}, []string{"npx mocha test/unit/adapters/http.js -R tap -g 'FormData'"}},
		{"axios/axios", "4738", nil, []string{"timeout 10s npx mocha -R tap test/unit/adapters/http.js -g 'timeout' || [ $? = 124 ]"}}, // upstream without what begins at ||

		{"laravel/framework", "52451", nil, []string{"vendor/bin/phpunit --testdox --colors=never tests/Validation/ValidationValidatorTest.php --filter 'custom'"}},
		{"briannesbitt/carbon", "2813", []string{"composer update", "composer install"}, []string{"vendor/bin/phpunit --testdox --colors=never tests/Factory/FactoryTest.php"}},

		{"jekyll/jekyll", "8047", nil, []string{`bundle exec ruby -I test test/test_filters.rb -v -n "/where_exp filter/"`}},
		{"fluent/fluentd", "3640", nil, []string{"bundle exec ruby test/plugin_helper/test_retry_state.rb -v -n '/exponential backoff/'"}},
		{"fastlane/fastlane", "20642", nil, []string{`FASTLANE_SKIP_UPDATE_CHECK=1 bundle exec rspec ./frameit/spec/device_spec.rb --no-color --format json | tail -n +2 | jq -r '.examples[] | "\(.description) - \(.id) - \(.status)"'`}},
		{"jordansissel/fpm", "1829", nil, []string{`bundle exec rspec spec/fpm/package/deb_spec.rb --no-color --format json | sed -n '/^{/,$p' | jq -r '.examples[] | "\(.description) - \(.status)"'`}},

		{"astral-sh/ruff", "15309", nil, []string{"cargo test --package ruff_linter 'f52'"}},
		{"tokio-rs/tokio", "4898", nil, []string{`RUSTFLAGS="-Awarnings --cfg tokio_unstable" cargo test --features full --test rt_metrics`}},
		{"tokio-rs/tokio", "6603", nil, []string{"RUSTFLAGS=-Awarnings cargo test --test sync_mpsc --no-fail-fast"}},
		{"tokio-rs/axum", "1730", nil, []string{"RUSTFLAGS=-Awarnings cargo test --package axum --lib -- routing::tests::mod state"}},
		{"nushell/nushell", "13605", []string{"cargo build"}, []string{"cargo test -p nu-command --no-fail-fast ls::"}},
	} {
		got, err := recipeOf(&row{Repo: c.repo, Version: c.version})
		if err != nil || got == nil || !slices.Equal(got.build, c.build) || !slices.Equal(got.test, c.test) {
			t.Errorf("%s %s: %+v, %v", c.repo, c.version, got, err)
		}
	}
	for _, c := range [][2]string{{"redis/redis", "13116"}, {"redis/redis", ""}, {"own/redis", "13115"}, {"markedjs/marked", "0.30"}, {"axios/axios", "5892.0"}} {
		if got, err := recipeOf(&row{Repo: c[0], Version: c[1]}); got != nil || err != nil {
			t.Errorf("%s %q: %+v, %v", c[0], c[1], got, err)
		}
	}
	all, err := recipes()
	if err != nil || len(all) != 389 { // all that the harness has
		t.Errorf("%d recipes, %v", len(all), err)
	}
	for key := range all {
		if repo, _, _ := strings.Cut(key, " "); testlog.ForRepo(repo) == "pytest" {
			t.Errorf("%s has no parser", key)
		}
	}
}

// Two versions of a repository with lines of their own, and what is no such text.
func TestParseRecipes(t *testing.T) {
	const good = "# of o/r\n\nrepo o/r\nbuild make a\nbuild make b\ntest t -x {} {}\n1,2.0 a b\n2.0 c\ntest u\n3\n"
	all, err := parseRecipes(good)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"o/r 1": `["make a" "make b"] ["t -x a b a b"]`, "o/r 2.0": `["make a" "make b"] ["t -x a b a b" "t -x c c"]`, "o/r 3": `[] ["u"]`} {
		if got := all[key]; got == nil || fmt.Sprintf("%q %q", got.build, got.test) != want {
			t.Errorf("%s: %+v, want %s", key, got, want)
		}
	}
	for text, want := range map[string]string{
		"":                             "the last lines are for no version",
		"repo o/r\ntest t\n":           "the last lines are for no version",
		"repo o/r\ntest t\nrepo o/s\n": `line 3: the lines before "repo o/s" are for no version`,
		"repo o\n":                     `line 1: "o" is no repository in lower case`,
		"repo O/r\n":                   `line 1: "O/r" is no repository in lower case`,
		"repo o/r x\n":                 `line 1: "o/r x" is no repository in lower case`,
		"test t\n1\n":                  "line 2: version 1 has no repository or no test",
		"repo o/r\nbuild b\n1\n":       "line 3: version 1 has no repository or no test",
		"repo o/r\ntest\n":             `line 2: "test" holds no command`,
		"repo o/r\nbuild b {}\n":       `line 2: "build b {}" takes an argument, which only a test may`,
		"repo o/r\ntset t\n":           `line 2: "tset" is no version`,
		"repo o/r\ntest t\n1,\n":       `line 3: "" is no version`,
		"repo o/r\ntest t\n1.\n":       `line 3: "1." is no version`,
		"repo o/r\ntest t\n1 a\n":      "line 3: version 1 has an argument that no line takes",
		"repo o/r\ntest t {}\n1\n":     "line 3: version 1 has an argument that no line takes, or a line an argument",
		"repo o/r\ntest t\n1\n1\n":     "line 4: version 1 of o/r is told twice",
		"repo o/r\ntest t {}\n1 a\ntest u {}\n1 b\n": "line 5: version 1 of o/r is told twice",
	} {
		if _, err := parseRecipes(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// wp-calypso's tests are run by the files of the test patch (test_spec/javascript.py):
// the expected lines are make_test_spec's but for the quotes that no name needs, and
// for the deleted file, which it runs, too.
func TestCalypsoRecipe(t *testing.T) {
	patch := ""
	for _, file := range []string{"client/a/test/index.js", "packages/b/test/it's.js", "client/c/test/__snapshots__/x.js.snap", "test/e2e/specs/z.js", "server/none.js"} {
		patch += "--- a/" + file + "\n+++ b/" + file + "\n@@ -1 +1 @@\n-x\n+y\n"
	}
	patch += "--- a/client/gone.js\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
	const e2e = "\ncd test/e2e\nNODE_CONFIG_ENV=test npm run test test/e2e/specs/z.js\ncd ../.."
	for version, line := range map[string]string{
		"10.14.0": "./node_modules/.bin/jest --verbose -c=test/%s/jest.config.js %s",
		"8.9.4":   "./node_modules/.bin/jest --verbose -c=test/%s/jest.config.json %s",
		"6.11.1":  "npm run test-%s --verbose %s",
	} {
		d := &row{Repo: "Automattic/wp-calypso", Version: version, TestPatch: patch}
		if err := d.useRecipe(rows.New("", nil)); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf(line+"\n"+line+"\n"+line, "client", "client/a/test/index.js", "packages", `'packages/b/test/it'\''s.js'`, "client", "client/c/test") + e2e
		if d.TestCmd != want {
			t.Errorf("%s:\n%s\nwant\n%s", version, d.TestCmd, want)
		}
	}
}

// A row of the multilingual set as it was published before version 5 of the harness:
// make_test_spec of v4.1.0 gives these build and test lines in this order.
func TestRecipeRow(t *testing.T) {
	row := func(more string) Instance {
		t.Helper()
		ins, err := rowsOf(t, []byte(`{"repo":"nlohmann/json","instance_id":"nlohmann__json-4237","base_commit":"1234567","problem_statement":"p","FAIL_TO_PASS":["t"],
"test_patch":"--- a/tests/src/unit-udt.cpp\n+++ b/tests/src/unit-udt.cpp\n@@ -1 +1 @@\n-$x\n+`+"`y`"+`\n"`+strings.ReplaceAll(more, "\n", "")+`}`))
		if err != nil {
			t.Fatal(err)
		}
		return ins[0]
	}
	in := row(`,"version":"4237"`)
	want := `#!/bin/bash
set -uxo pipefail
` + activate + `cd /testbed
git checkout 1234567 -- tests/src/unit-udt.cpp
git apply -v --whitespace=nowarn - <<'EOF_ROLLBENCH' || exit 1
--- a/tests/src/unit-udt.cpp
+++ b/tests/src/unit-udt.cpp
@@ -1 +1 @@
-$x
+` + "`y`" + `
EOF_ROLLBENCH
mkdir -p build
cd build
cmake ..
make test-udt_cpp11
cd ..
: '>>>>> Start Test Output'
./build/tests/test-udt_cpp11 -s -r=xml
SWEBENCH_TEST_EXIT_CODE=$?
: '>>>>> End Test Output'
echo ">>>>> Test Exit Code: $SWEBENCH_TEST_EXIT_CODE"
cd /testbed
git checkout 1234567 -- tests/src/unit-udt.cpp
`
	if got := in.kind.(*swebench); got.script != want || got.grading.rules.Parser.Name != "doctest" || in.Image != "swebench/sweb.eval.x86_64.nlohmann_1776_json-4237:latest" || in.Env != nil || len(in.Warnings) > 0 {
		t.Errorf("%s %s %v %q\n%s\nwant\n%s", got.grading.rules.Parser.Name, in.Image, in.Env, in.Warnings, got.script, want)
	}
	for more, want := range map[string]string{
		`,"version":"4237","test_cmd":"ctest"`:                   "\nctest tests/src/unit-udt.cpp\n", // its own command, on its test files
		`,"version":"4237","eval_script":"run me"`:               "run me",
		`,"version":"4237","test_cmd":"","eval_script":"run me"`: "run me",
		`,"version":"4238"`:                                      "", `,"version":"3.11"`: "", ``: "", `,"version":"4237","log_parser":"ant"`: "",
	} {
		in := row(more)
		script := in.kind.(*swebench).script
		if !strings.Contains(script, want) || strings.Contains(script, "cmake") || (want == "") != (script == "") || (want == "") != (len(in.Warnings) > 0) {
			t.Errorf("%s: %q\n%s", more, in.Warnings, script)
		}
	}
}

// recipeRepos are small repositories that go by the names of known ones, each with the
// commands of one of their versions: go test with a filter, Ruby's test-unit, and a
// build whose outcome is what the tests run.
var recipeRepos = map[string]struct{ make, row string }{
	"go": {`printf 'module tree\n\ngo 1.19\n' >go.mod; printf 'package tree\n\nfunc Depth() int { return 1 }\n' >tree.go
printf 'package tree\n\nimport "testing"\n\nfunc TestTreeIs(t *testing.T) {}\n\nfunc TestOther(t *testing.T) { t.Fatal("not of this row") }\n' >tree_test.go`,
		`"repo":"gin-gonic/gin","version":"2755","instance_id":"gin-gonic__gin-2755",
"patch":"--- a/tree.go\n+++ b/tree.go\n@@ -1,3 +1,3 @@\n package tree\n \n-func Depth() int { return 1 }\n+func Depth() int { return 2 }\n",
"test_patch":"--- a/tree_test.go\n+++ b/tree_test.go\n@@ -5,3 +5,9 @@\n func TestTreeIs(t *testing.T) {}\n \n+func TestTreeDepth(t *testing.T) {\n+\tif Depth() != 2 {\n+\t\tt.Fatal(Depth())\n+\t}\n+}\n+\n func TestOther(t *testing.T) { t.Fatal(\"not of this row\") }\n",
"FAIL_TO_PASS":["TestTreeDepth"],"PASS_TO_PASS":["TestTreeIs"]`},
	"ruby": {`mkdir -p lib test/faker/default; printf 'def email = "a"\n' >lib/faker.rb
printf 'require "test/unit"\nrequire_relative "../../../lib/faker"\nclass TestFakerInternet < Test::Unit::TestCase\n  def test_email_is = assert(email)\n  def test_other = flunk\nend\n' >test/faker/default/test_faker_internet.rb
mkdir -p /usr/local/bin; printf '#!/bin/sh\nshift\nexec "$@"\n' >/usr/local/bin/bundle; chmod +x /usr/local/bin/bundle`,
		`"repo":"faker-ruby/faker","version":"2970","instance_id":"faker-ruby__faker-2970",
"patch":"--- a/lib/faker.rb\n+++ b/lib/faker.rb\n@@ -1 +1 @@\n-def email = \"a\"\n+def email = \"a@b\"\n",
"test_patch":"--- a/test/faker/default/test_faker_internet.rb\n+++ b/test/faker/default/test_faker_internet.rb\n@@ -4,3 +4,4 @@\n   def test_email_is = assert(email)\n+  def test_email_at = assert_match(/@/, email)\n   def test_other = flunk\n end\n",
"FAIL_TO_PASS":["test_email_at"],"PASS_TO_PASS":["test_email_is"]`},
	"built": {`mkdir -p tools src tests/basics ports/unix/build-standard; echo ports/ >.gitignore; printf 'echo one\n' >src/main
printf 'ci_unix_build_helper() { install -m 755 src/main ports/unix/build-standard/micropython; }\n' >tools/ci.sh
printf '#!/bin/bash\n[ "$*" = "-i basics/fun" ] || exit 2\nfor t in basics/fun*; do [ "$(bash $MICROPY_MICROPYTHON)" = "$(cat $t)" ] && echo "pass  $t" || { echo "FAIL  $t"; bad=1; }; done\nexit ${bad:-0}\n' >tests/run-tests.py
chmod +x tests/run-tests.py; . tools/ci.sh; ci_unix_build_helper`,
		`"repo":"micropython/micropython","version":"10095","instance_id":"micropython__micropython-10095",
"patch":"--- a/src/main\n+++ b/src/main\n@@ -1 +1 @@\n-echo one\n+echo two\n",
"test_patch":"--- /dev/null\n+++ b/tests/basics/fun2\n@@ -0,0 +1 @@\n+two\n",
"FAIL_TO_PASS":["basics/fun2"]`},
}

func TestRecipesInContainers(t *testing.T) {
	base := needDocker(t)
	const tag = "rollbench-test/sweb.eval.recipes:1"
	script := "export GIT_AUTHOR_DATE=2025-01-01T00:00:00Z GIT_COMMITTER_DATE=2025-01-01T00:00:00Z\n"
	for _, name := range slices.Sorted(maps.Keys(recipeRepos)) { // in one order, so that the image is made once
		repo := recipeRepos[name]
		script += "mkdir -p /srv/" + name + "; cd /srv/" + name + "\n" + gitSetup + repo.make + "\ncommit base\ngit rev-parse HEAD >/" + name + ".base\n"
	}
	dir := writeDockerfile(t, "FROM "+base+"\nCOPY make.sh /make.sh\nRUN bash -e /make.sh\n")
	writeFiles(t, dir, map[string]string{"make.sh": script})
	build(t, &sandbox.Build{Context: func() (io.ReadCloser, error) { return tarFolder(os.DirFS(dir)), nil }}, tag)
	for name, repo := range recipeRepos {
		t.Run(name, func(t *testing.T) {
			commit, err := (&container{}).docker(t.Context(), nil, "run", "--rm", "--label", testLabel, tag, "cat", "/"+name+".base")
			if err != nil {
				t.Fatalf("%v\n%s", err, commit)
			}
			ins, err := rowsOf(t, fmt.Appendf(nil, `{%s,"base_commit":%q,"problem_statement":"p","image":%q,"workdir":"/srv/%s"}`, strings.ReplaceAll(repo.row, "\n", ""), strings.TrimSpace(string(commit)), tag, name))
			if err != nil || len(ins[0].Warnings) > 0 {
				t.Fatal(err, ins)
			}
			checkLife(t, &ins[0])
		})
	}
}
