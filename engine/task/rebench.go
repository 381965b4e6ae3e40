package task

import "rollbench/engine/task/rows"

// rebench takes how a row of SWE-rebench is installed and tested, which its harness
// (SWE-rebench/SWE-bench-fork 453bb35f, swebench/harness/test_spec/python.py) reads
// from the column install_config. What the row says itself goes before it.
func (d *row) rebench(r rows.Row) error {
	config, given, err := r.Object("install_config")
	if err != nil || !given || d.EvalScript != "" {
		return err
	}
	if config.Has("base_image_name") && d.LogParser+d.TestCmd == "" {
		return r.Wrong("install_config", "is of SWE-rebench V2, whose parsers are its own; give the row eval_script or test_cmd, and log_parser and workdir")
	}
	s := &spec{}
	parser := ""
	for name, into := range map[string]*string{"test_cmd": &s.test, "install": &s.install, "log_parser": &parser} {
		if *into, err = config.Text(name); err != nil {
			return err
		}
	}
	if d.LogParser == "" {
		d.LogParser = parser
	}
	if d.TestCmd == "" && s.test != "" {
		d.TestCmd, d.Spec = s.test, s
	}
	return nil
}
