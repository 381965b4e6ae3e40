package docker

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"

	"rollbench/sandbox"
)

// labelBuilt holds the name that an image was built under. Images that others make
// from it inherit the label, but not the name, and are not ours.
const labelBuilt = "rollbench.built"

// Image is one that rollbench made or pulled.
type Image struct {
	Name    string
	How     string // built, pulled, snapshot
	Size    int64  // bytes, layers that other images share included
	Own     int64  // bytes of what it adds to the other images that are there
	Created time.Time
	// Used says who needs it, "" when it can be removed.
	Used string

	id string
}

// Images lists what rollbench built, pulled and snapshotted on this engine, the
// largest first; nothing else.
func (p *Provider) Images(ctx context.Context) ([]Image, error) {
	pulled, err := p.readPulled()
	if err != nil {
		return nil, err
	}
	list, err := p.engine.ImageList(ctx, image.ListOptions{})
	if err != nil {
		return nil, p.explain(fmt.Errorf("list images: %w", err))
	}
	users, err := p.users(ctx)
	if err != nil {
		return nil, err
	}
	var all []Image
	var sizes stacks
	for _, i := range list {
		found := ours(i, pulled)
		if len(found) == 0 {
			if err := sizes.add(ctx, p, i); err != nil {
				return nil, err
			}
		}
		for _, x := range found {
			x.Size, x.Created, x.id = i.Size, time.Unix(i.Created, 0), i.ID
			if x.Used == "" {
				x.Used = users[i.ID]
			}
			all = append(all, x)
		}
	}
	// From the smallest on: what a larger one is made from is counted there.
	slices.SortFunc(all, func(a, b Image) int { return cmp.Or(cmp.Compare(a.Size, b.Size), strings.Compare(b.Name, a.Name)) })
	for k := range all {
		i := image.Summary{ID: all[k].id, Size: all[k].Size}
		if all[k].Own, err = sizes.own(ctx, p, i); err != nil {
			return nil, err
		}
		if err := sizes.add(ctx, p, i); err != nil {
			return nil, err
		}
	}
	slices.Reverse(all)
	return all, nil
}

// ours are the names of an image by which it is rollbench's.
func ours(i image.Summary, pulled map[string]string) []Image {
	var found []Image
	for _, name := range i.RepoTags {
		x := Image{Name: name}
		switch {
		case name == snapshotOf(i):
			x.How = "snapshot"
			if owner, err := sandbox.ParseOwner(i.Labels[labelOwner]); err != nil || owner.Alive() {
				x.Used = "the run that made it"
			}
		case same(name, i.Labels[labelBuilt]):
			x.How = "built"
		case pulled[name] == i.ID:
			x.How = "pulled"
		default:
			continue
		}
		found = append(found, x)
	}
	return found
}

// users names a container of each image that has one.
func (p *Provider) users(ctx context.Context) (map[string]string, error) {
	list, err := p.engine.ContainerList(ctx, container.ListOptions{All: true})
	if err != nil {
		return nil, p.explain(fmt.Errorf("list containers: %w", err))
	}
	users := map[string]string{}
	for _, c := range list {
		if len(c.Names) > 0 {
			users[c.ImageID] = "container " + strings.TrimPrefix(c.Names[0], "/")
		}
	}
	return users, nil
}

// stacks are the layers of images, to tell what they share: old engines do not, or
// only after measuring every container.
type stacks []stack

type stack struct {
	layers []string
	size   int64
}

func (s *stacks) add(ctx context.Context, p *Provider, i image.Summary) error {
	layers, err := p.layersOf(ctx, i.ID)
	if err == nil {
		*s = append(*s, stack{layers, i.Size})
	}
	return err
}

// own is the size of an image without the largest other one that it builds on.
func (s stacks) own(ctx context.Context, p *Provider, i image.Summary) (int64, error) {
	layers, err := p.layersOf(ctx, i.ID)
	base := int64(0)
	for _, x := range s {
		if len(x.layers) <= len(layers) && slices.Equal(x.layers, layers[:len(x.layers)]) {
			base = max(base, x.size)
		}
	}
	return max(i.Size-base, 0), err
}

func (p *Provider) layersOf(ctx context.Context, id string) ([]string, error) {
	info, err := p.engine.ImageInspect(ctx, id)
	if cerrdefs.IsNotFound(err) {
		return nil, nil // removed meanwhile
	}
	if err != nil {
		return nil, p.explain(fmt.Errorf("inspect image %s: %w", id, err))
	}
	return info.RootFS.Layers, nil
}

// RemoveImage takes away the image's name, and the image where it has no other.
// Nothing is forced: one that a container came to need meanwhile is an error.
func (p *Provider) RemoveImage(ctx context.Context, i Image) error {
	used, err := p.removeImage(ctx, i.Name)
	if err == nil && used {
		err = fmt.Errorf("image %s is in use: it stays", i.Name)
	}
	return err
}

// Size in words.
func Size(bytes int64) string { return size(bytes) }

// pulledFile lists the images that were pulled, a line each.
const pulledFile = "pulled-images"

type pulledImage struct {
	Name string    `json:"name"`
	ID   string    `json:"id"`
	At   time.Time `json:"at"`
}

// notePulled writes down that an image is here because of us.
func (p *Provider) notePulled(ctx context.Context, name string) error {
	if p.opt.Home == "" {
		return nil
	}
	info, err := p.engine.ImageInspect(ctx, name)
	if err != nil {
		return p.explain(fmt.Errorf("inspect image %s: %w", name, err))
	}
	var line []byte
	for _, tag := range info.RepoTags { // the engine's words for the name
		if same(tag, name) {
			if line, err = json.Marshal(pulledImage{tag, info.ID, time.Now().UTC()}); err != nil {
				return err
			}
		}
	}
	if line == nil {
		return nil // by its digest: it has no name that could be taken away
	}
	f, err := os.OpenFile(filepath.Join(p.opt.Home, pulledFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("note the pulled image: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("note the pulled image: %w", err)
	}
	return nil
}

// readPulled maps names to the ids they were last pulled with. A line that a crash
// cut off is no line.
func (p *Provider) readPulled() (map[string]string, error) {
	data, err := os.ReadFile(filepath.Join(p.opt.Home, pulledFile))
	if p.opt.Home == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of pulled images: %w", err)
	}
	ids := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		var x pulledImage
		if json.Unmarshal(lines.Bytes(), &x) == nil {
			ids[x.Name] = x.ID
		}
	}
	return ids, nil
}
