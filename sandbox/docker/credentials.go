package docker

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"

	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/registry"
)

// credentials finds the login for an image's registry where the docker command
// line keeps it: a credential helper, else config.json.
type credentials struct {
	config configFile
	// run executes a credential helper's verb with input on stdin.
	run func(ctx context.Context, helper, verb, input string) ([]byte, error)
}

// forImage is the encoded login for an image, or "" for an anonymous pull.
func (c credentials) forImage(ctx context.Context, image string) (string, error) {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return "", fmt.Errorf("image name %q: %w", image, err)
	}
	login, err := c.find(ctx, reference.Domain(named))
	if err != nil || login == nil {
		return "", err
	}
	return registry.EncodeAuthConfig(*login)
}

func (c credentials) find(ctx context.Context, domain string) (*registry.AuthConfig, error) {
	for server, helper := range c.config.CredHelpers {
		if sameHost(server, domain) {
			return c.ask(ctx, helper, server)
		}
	}
	if c.config.CredsStore != "" {
		server, err := c.stored(ctx, domain)
		if err != nil {
			return nil, err
		}
		if server != "" {
			return c.ask(ctx, c.config.CredsStore, server)
		}
	}
	for server, entry := range c.config.Auths {
		if sameHost(server, domain) && (entry.Auth != "" || entry.IdentityToken != "") {
			return decode(server, entry)
		}
	}
	return nil, nil
}

// sameHost compares a key of config.json, which may be a URL, with an image's
// registry. The default registry's key has "index." before its name.
func sameHost(server, domain string) bool {
	if _, rest, ok := strings.Cut(server, "://"); ok {
		server = rest
	}
	server, _, _ = strings.Cut(server, "/")
	return server == domain || strings.TrimPrefix(server, "index.") == domain
}

func decode(server string, entry authEntry) (*registry.AuthConfig, error) {
	login := &registry.AuthConfig{ServerAddress: server, IdentityToken: entry.IdentityToken}
	if entry.Auth == "" {
		return login, nil
	}
	text, err := base64.StdEncoding.DecodeString(entry.Auth)
	user, password, ok := strings.Cut(strings.TrimRight(string(text), "\x00"), ":")
	if err != nil || !ok {
		return nil, fmt.Errorf("docker config: the login for %s cannot be read: run `docker login %s` again", server, server)
	}
	login.Username, login.Password = user, password
	return login, nil
}

// stored is the name under which the credential store keeps the domain's login.
func (c credentials) stored(ctx context.Context, domain string) (string, error) {
	out, err := c.run(ctx, c.config.CredsStore, "list", "")
	if err != nil {
		return "", err
	}
	var users map[string]string
	if err := json.Unmarshal(out, &users); err != nil {
		return "", fmt.Errorf("docker-credential-%s list: %w", c.config.CredsStore, err)
	}
	for server := range users {
		if sameHost(server, domain) {
			return server, nil
		}
	}
	return "", nil
}

func (c credentials) ask(ctx context.Context, helper, server string) (*registry.AuthConfig, error) {
	out, err := c.run(ctx, helper, "get", server)
	if err != nil {
		return nil, err
	}
	var got struct{ Username, Secret string }
	if err := json.Unmarshal(out, &got); err != nil {
		return nil, fmt.Errorf("docker-credential-%s get: %w", helper, err)
	}
	login := &registry.AuthConfig{ServerAddress: server, Username: got.Username, Password: got.Secret}
	if got.Username == "<token>" { // how helpers say that the secret is an identity token
		login.Username, login.Password, login.IdentityToken = "", "", got.Secret
	}
	return login, nil
}

// runHelper executes docker-credential-HELPER. Its error never holds what it
// printed on stdout, which may be a secret.
func runHelper(ctx context.Context, helper, verb, input string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "docker-credential-"+helper, verb)
	cmd.Stdin = strings.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("docker-credential-%s %s: %w: %s", helper, verb, err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}
