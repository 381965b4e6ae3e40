package cli

import (
	"fmt"
	"os"

	"rollbench/engine/infer"
	"rollbench/engine/task"
)

// judge of the configuration, nil where it names none.
func (c *config) judge() (task.Asker, error) {
	j := c.Judge
	if j.URL == "" || j.KeyEnv == "" {
		return j.Asker(""), nil
	}
	key, ok := os.LookupEnv(j.KeyEnv)
	if !ok || key == "" {
		return nil, fmt.Errorf("judge.api_key_env names %s, which is not set: export it first", j.KeyEnv)
	}
	return j.Asker(infer.Secret(key)), nil
}
