package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/docker/docker/client"
)

// configFile is the part of the docker command line's config.json that matters
// here.
type configFile struct {
	dir            string
	CurrentContext string               `json:"currentContext"`
	Auths          map[string]authEntry `json:"auths"`
	CredsStore     string               `json:"credsStore"`
	CredHelpers    map[string]string    `json:"credHelpers"`
}

// authEntry is a stored login: Auth is base64 of user:password.
type authEntry struct {
	Auth          string `json:"auth"`
	IdentityToken string `json:"identitytoken"`
}

// readConfig reads config.json below DOCKER_CONFIG or ~/.docker. No such file
// is an empty config.
func readConfig() (configFile, error) {
	dir := os.Getenv("DOCKER_CONFIG")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return configFile{}, nil // without a home there is no config to honour
		}
		dir = filepath.Join(home, ".docker")
	}
	c := configFile{dir: dir}
	file := filepath.Join(dir, "config.json")
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("docker config: %w", err)
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("docker config %s: %w: correct it, or name another folder in DOCKER_CONFIG", file, err)
	}
	return c, nil
}

// endpoint says where the engine is, in the docker command line's order:
// DOCKER_HOST, then DOCKER_CONTEXT, then the config's current context, then
// the default socket.
func endpoint(c configFile) ([]client.Opt, error) {
	options := []client.Opt{client.WithAPIVersionNegotiation(), client.WithUserAgent("rollbench")}
	name := os.Getenv("DOCKER_CONTEXT")
	if name == "" {
		name = c.CurrentContext
	}
	if os.Getenv("DOCKER_HOST") != "" || name == "" || name == "default" {
		if host := os.Getenv("DOCKER_HOST"); strings.HasPrefix(host, "ssh://") {
			over, err := sshOptions("DOCKER_HOST", host)
			return append(over, options...), err
		}
		return append([]client.Opt{client.FromEnv}, options...), nil
	}
	host, secure, err := readContext(c.dir, name)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(host, "ssh://") {
		over, err := sshOptions(fmt.Sprintf("docker context %q", name), host)
		return append(over, options...), err
	}
	// An engine may ask for no certificate of ours, or have one that all trust.
	var files [3]string
	for i, name := range []string{"ca.pem", "cert.pem", "key.pem"} {
		if _, err := os.Stat(filepath.Join(secure, name)); err == nil {
			files[i] = filepath.Join(secure, name)
		}
	}
	if files != [3]string{} {
		options = append(options, client.WithTLSClientConfig(files[0], files[1], files[2]))
	}
	return append(options, client.WithHost(host)), nil
}

// readContext finds a docker context's host, and the folder where its TLS files
// are when it has some.
func readContext(dir, name string) (host, secure string, err error) {
	sum := sha256.Sum256([]byte(name))
	id := hex.EncodeToString(sum[:])
	file := filepath.Join(dir, "contexts", "meta", id, "meta.json")
	data, err := os.ReadFile(file)
	if err != nil {
		return "", "", fmt.Errorf("docker context %q: %w: choose another with `docker context use`, or set DOCKER_HOST", name, err)
	}
	var meta struct {
		Endpoints map[string]struct{ Host string }
	}
	if err := json.Unmarshal(data, &meta); err != nil {
		return "", "", fmt.Errorf("docker context %q: %s: %w", name, file, err)
	}
	host = meta.Endpoints["docker"].Host
	if host == "" {
		return "", "", fmt.Errorf("docker context %q names no engine (%s): choose another with `docker context use`", name, file)
	}
	return host, filepath.Join(dir, "contexts", "tls", id, "docker"), nil
}
