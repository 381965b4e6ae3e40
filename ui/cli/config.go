package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"rollbench/engine"
	"rollbench/sandbox/docker"
	"rollbench/ui"
)

// config is everything config.toml holds.
type config struct {
	engine.Config
	Simulated simulatedConfig `toml:"simulated" json:"simulated"`
	UI        uiConfig        `toml:"ui" json:"ui"`

	server engine.Server // the built-in [endpoint]: what each of several starts from
}

// simulatedConfig is the embedded endpoint.
type simulatedConfig struct {
	Seed            int64           `toml:"seed" json:"seed"`
	Latency         engine.Duration `toml:"latency" json:"latency"`
	TokensPerSecond float64         `toml:"tokens_per_second" json:"tokens_per_second"`
	Concurrency     int             `toml:"concurrency" json:"concurrency"`
	// With one of these set, a GPU is modelled.
	KVCapacity      int             `toml:"kv_capacity_tokens" json:"kv_capacity_tokens"`
	StepTime        engine.Duration `toml:"step_time" json:"step_time"`
	StepPerSequence engine.Duration `toml:"step_time_per_sequence" json:"step_time_per_sequence"`
	Prefill         float64         `toml:"prefill_tokens_per_second" json:"prefill_tokens_per_second"`
	// InitTime and EvalTime are the medians of modelled times that the two
	// stages take besides their work.
	InitTime engine.Duration `toml:"init_time" json:"init_time"`
	EvalTime engine.Duration `toml:"eval_time" json:"eval_time"`
	// Scale: tokens of the byte-level tokenizer for one token of a trained
	// one; the token budget is multiplied by it.
	Scale int `toml:"tokens_per_token" json:"tokens_per_token"`
}

type uiConfig struct {
	Theme string `toml:"theme" json:"theme"`
	Mouse bool   `toml:"mouse" json:"mouse"`
}

// load reads the configuration; a validation run gets it with its val_config
// tables. Those are tried for every run, so that a mistake in them is known
// before it is needed.
func (a *app) load() (*config, error) {
	c, err := a.read()
	if err != nil {
		return nil, bad(err)
	}
	if err := c.check(); err != nil {
		return nil, bad(err)
	}
	valid, err := a.read()
	if err == nil {
		err = valid.validate()
	}
	if err != nil {
		return nil, bad(err)
	}
	if a.flags.validation {
		return valid, nil
	}
	return c, nil
}

// read the defaults, the pace, the person's file, the preset and the --set flags, in this
// order.
func (a *app) read() (*config, error) {
	c := &config{}
	if _, err := decode(a.defaults, "the built-in config.toml", c); err != nil {
		return nil, err
	}
	if _, err := decode(a.pace, "the pace of the first look", c); err != nil {
		return nil, err
	}
	c.server = c.Endpoints[0]
	path, required := a.flags.config, true
	if path == "" {
		path, required = defaultConfigPath(), false
	}
	if path != "" {
		text, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !required:
		case err != nil:
			return nil, fmt.Errorf("read the configuration: %w", err)
		default:
			if _, err := decode(string(text), path, c); err != nil {
				return nil, err
			}
		}
	}
	if err := c.preset(a.flags.preset); err != nil {
		return nil, err
	}
	for _, s := range a.overrides() {
		if err := c.set(s); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// validate puts the val_config tables over those they stand in.
func (c *config) validate() error {
	for _, t := range []struct {
		name string
		over map[string]any
	}{{"generator", c.Generator.Validation}, {"dispatcher", c.Dispatcher.Validation}} {
		if _, ok := t.over["val_config"]; ok {
			return fmt.Errorf("%s.val_config holds another val_config", t.name)
		}
		text, err := toml.Marshal(map[string]any{t.name: t.over})
		if err != nil {
			return fmt.Errorf("%s.val_config: %w", t.name, err)
		}
		if _, err := decode(string(text), "--set "+t.name+".val_config", c); err != nil {
			return errors.New(strings.TrimPrefix(err.Error(), "--set "))
		}
	}
	if err := c.check(); err != nil {
		return fmt.Errorf("with val_config: %w", err)
	}
	return nil
}

// overrides are the --set flags and the flags that are short for one.
func (a *app) overrides() []string {
	out := slices.Clone(a.flags.set)
	for _, f := range []struct{ key, value string }{
		{"endpoint.url", a.flags.endpoint}, {"endpoint.model", a.flags.model}, {"sandbox.kind", a.flags.sandbox},
		{"tasks.format", a.flags.format}, {"tasks.split", a.flags.split}, {"tasks.on_bad_row", a.flags.onBadRow},
	} {
		if f.value != "" {
			out = append(out, f.key+"="+f.value)
		}
	}
	if a.flags.human {
		out = append(out, "generator.human=true")
	}
	if a.flags.evalRepeats != 0 {
		out = append(out, fmt.Sprintf("limits.eval_repeats=%d", a.flags.evalRepeats))
	}
	if a.flags.bare {
		out = append(out, "sandbox.allow_uncontained=true")
	}
	return out
}

func (c *config) check() error {
	if err := c.Config.Check(); err != nil {
		return err
	}
	if err := docker.CheckMirror(c.Sandbox.Mirror); err != nil {
		return err
	}
	s := c.Simulated
	for _, e := range c.Endpoints {
		if u, err := url.Parse(e.URL); err == nil && u.User != nil {
			return errors.New("endpoint.url holds a name or password, which would be stored with the run: put the key into a variable and name it with endpoint.api_key_env")
		}
	}
	if u, err := url.Parse(c.Judge.URL); err == nil && u.User != nil {
		return errors.New("judge.endpoint holds a name or password, which would be stored with the run: put the key into a variable and name it with judge.api_key_env")
	}
	switch {
	case ui.CheckTheme(c.UI.Theme) != nil:
		return fmt.Errorf("ui.theme is %q: use %s", c.UI.Theme, ui.ThemeList())
	case s.Concurrency < 1:
		return fmt.Errorf("simulated.concurrency is %d: it must be at least 1", s.Concurrency)
	case s.Scale < 1:
		return fmt.Errorf("simulated.tokens_per_token is %d: it must be at least 1", s.Scale)
	case s.TokensPerSecond < 0:
		return fmt.Errorf("simulated.tokens_per_second is %v: it must not be negative", s.TokensPerSecond)
	case s.KVCapacity < 0:
		return fmt.Errorf("simulated.kv_capacity_tokens is %d: it must not be negative", s.KVCapacity)
	case s.StepTime < 0 || s.StepPerSequence < 0:
		return fmt.Errorf("simulated.step_time is %v and step_time_per_sequence %v: they must not be negative", time.Duration(s.StepTime), time.Duration(s.StepPerSequence))
	case s.Prefill < 0:
		return fmt.Errorf("simulated.prefill_tokens_per_second is %v: it must not be negative", s.Prefill)
	}
	return nil
}

// set one key. The value is TOML; text that is no TOML value is taken as a string.
func (c *config) set(assignment string) error {
	key, value, ok := strings.Cut(assignment, "=")
	key = strings.TrimSpace(key)
	if !ok || key == "" {
		return fmt.Errorf("--set %s: write KEY=VALUE, for example --set generator.num_trajectories=8", assignment)
	}
	doc := key + " = " + value
	var probe map[string]any
	if _, err := toml.Decode(doc, &probe); err != nil || strings.TrimSpace(value) == "" {
		doc = key + " = " + quoted(value)
	}
	_, err := decode(doc, "--set "+assignment, c)
	return err
}

func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(s) + `"`
}

// decode a TOML text over c. Errors name the place, the line and the key; an
// unknown key names the nearest known one.
func decode(text, place string, c *config) (toml.MetaData, error) {
	doc := document{config: c}
	own := c.Tools.OwnTools
	c.Tools.OwnTools = engine.OwnTools{}
	meta, err := toml.Decode(text, &doc)
	own.Read(c.Tools.OwnTools, written(meta))
	c.Tools.OwnTools = own
	if err == nil {
		var key string
		if key, err = c.Tools.Resolve(func(key string) bool { return meta.IsDefined("tools", key) }); err != nil {
			err = misplaced{fmt.Errorf("%s: %w", onLine(place, lineOf(text, toml.Key{"tools", key})), err)}
		}
	}
	if err == nil && meta.IsDefined("endpoint") {
		err = c.endpoints(&meta, doc.Endpoint, text, place)
	}
	var parse toml.ParseError
	var told misplaced
	switch {
	case errors.As(err, &told):
		return meta, told.error
	case errors.As(err, &parse) && !strings.HasPrefix(place, "--set"):
		return meta, fmt.Errorf("%s:%d: %s", place, parse.Position.Line, parseMessage(parse))
	case errors.As(err, &parse):
		return meta, fmt.Errorf("%s: %s", place, parseMessage(parse))
	case err != nil:
		return meta, placed(err, place, text)
	}
	for _, key := range meta.Undecoded() {
		if slices.ContainsFunc(key[:len(key)-1], func(table string) bool { return table == "val_config" || table == "chat_template_kwargs" }) {
			continue // of the server's, or checked when it is put over its table
		}
		where := onLine(place, lineOf(text, key))
		near := nearest(key.String())
		if d := distance(key.String(), near); d > len(key.String())/2+1 && last(key.String()) != last(near) {
			return meta, fmt.Errorf("%s: unknown key %s; docs/config.md lists all keys", where, key)
		}
		return meta, fmt.Errorf("%s: unknown key %s; did you mean %s?", where, key, near)
	}
	for _, key := range [][]string{{"generator", "val_config"}, {"generator", "chat_template_kwargs"}, {"dispatcher", "val_config"}, {"sandbox", "build_args"}, {"tools", "observation_chars"}} {
		if kind := meta.Type(key...); kind != "" && kind != "Hash" { // the decoder takes anything for a table
			return meta, fmt.Errorf("%s: %s must be a table, for example %s.KEY = VALUE", onLine(place, lineOf(text, key)), strings.Join(key, "."), strings.Join(key, "."))
		}
	}
	if meta.IsDefined("endpoint") {
		return meta, c.checkEndpoints(text, place)
	}
	return meta, nil
}

// onLine is a place with the line, where it has lines.
func onLine(place string, line int) string {
	if strings.HasPrefix(place, "--set") {
		return place
	}
	return fmt.Sprintf("%s:%d", place, line)
}

// written are a text's keys in their order.
func written(meta toml.MetaData) []string {
	var keys []string
	for _, k := range meta.Keys() {
		keys = append(keys, k.String())
	}
	return keys
}

func parseMessage(e toml.ParseError) string {
	text := e.Message
	if text == "" {
		text = strings.TrimPrefix(e.Error(), "toml: ")
	}
	text = plainType(text, e.LastKey)
	if e.LastKey != "" && !strings.Contains(text, e.LastKey) {
		text = e.LastKey + ": " + text
	}
	return text
}

// lineOf finds the line of a key, for messages: where it is set, dotted or in its
// table, else the first that begins like it.
func lineOf(text string, key toml.Key) int {
	name, last, table, alike := strings.Join(key, "."), key[len(key)-1], "", 0
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			table, _, _ = strings.Cut(strings.TrimLeft(line, "[ "), "]")
			if table = strings.TrimSpace(table); strings.HasPrefix(table, name) {
				return i + 1
			}
			continue
		}
		set, _, is := strings.Cut(line, "=")
		set = strings.NewReplacer(" ", "", `"`, "").Replace(set)
		whole := strings.TrimPrefix(table+"."+set, ".")
		switch {
		case !is:
		case whole == name || strings.HasPrefix(name, whole+"."): // the latter has it in braces
			return i + 1
		case alike == 0 && strings.HasPrefix(set, last):
			alike = i + 1
		}
	}
	return max(alike, 1)
}

// knownKeys of the configuration, dotted.
func knownKeys() []string {
	var keys []string
	var walk func(t reflect.Type, prefix string)
	walk = func(t reflect.Type, prefix string) {
		for i := range t.NumField() {
			f := t.Field(i)
			name := f.Tag.Get("toml")
			switch {
			case name == "-":
			case f.Anonymous:
				walk(f.Type, prefix)
			case f.Type.Kind() == reflect.Struct:
				walk(f.Type, prefix+name+".")
			case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct && name != "-":
				keys = append(keys, prefix+name)
				walk(f.Type.Elem(), prefix+name+".")
			case name != "" && name != "-":
				keys = append(keys, prefix+name)
			}
		}
	}
	walk(reflect.TypeFor[config](), "")
	walk(reflect.TypeFor[engine.Server](), "endpoint.")
	return keys
}

// nearest known key by edit distance; a right last part in the wrong table
// counts as near.
func nearest(key string) string {
	best, cost := "", 1<<30
	for _, known := range knownKeys() {
		d := distance(key, known)
		if last(key) == last(known) {
			d = min(d, 2)
		}
		if d < cost {
			best, cost = known, d
		}
	}
	return best
}

func last(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }

// distance is the Levenshtein distance of two keys.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// defaultConfigPath is in the XDG config folder, on a Mac as well; "" where there is
// no home folder and so no file to read.
func defaultConfigPath() string {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if dir == "" {
		h, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(h, ".config")
	}
	return filepath.Join(dir, "rollbench", "config.toml")
}

// home is the folder of sessions: $ROLLBENCH_HOME or the XDG state folder.
func home() (string, error) {
	if h := os.Getenv("ROLLBENCH_HOME"); h != "" {
		return filepath.Abs(h)
	}
	if h := os.Getenv("XDG_STATE_HOME"); h != "" {
		return filepath.Join(h, "rollbench"), nil
	}
	h, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no home folder for sessions: %w; set ROLLBENCH_HOME to a folder", err)
	}
	return filepath.Join(h, ".local", "state", "rollbench"), nil
}
