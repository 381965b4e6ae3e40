package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"rollbench/sandbox"
	"rollbench/sandbox/docker"
)

// imageStore is what the docker provider offers beyond sandboxes.
type imageStore interface {
	Images(ctx context.Context) ([]docker.Image, error)
	RemoveImage(ctx context.Context, i docker.Image) error
}

// cleanImages shows the images that rollbench made or pulled and removes those
// that nobody uses, once a person has agreed.
func (a *app) cleanImages(ctx context.Context, ps map[sandbox.Kind]sandbox.Provider, yes, dry bool) error {
	store, ok := ps[sandbox.Docker].(imageStore)
	if r := ps[sandbox.Docker].Check(ctx); !ok || !r.OK {
		return bad(fmt.Errorf("no images: %s; %s", r.Detail, r.Fix))
	}
	all, err := store.Images(ctx)
	if err != nil {
		return &exit{1, err}
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(a.out, "no images: rollbench has built and pulled none that is still here")
		return err
	}
	var free []docker.Image
	var sum int64
	for _, i := range all {
		used := ""
		if i.Used != "" {
			used = "  used by " + i.Used + ": stays"
		} else {
			free = append(free, i)
			sum += i.Own
		}
		fmt.Fprintf(a.out, "%9s  %9s its own  %-8s  %s  %s%s\n", docker.Size(i.Size), docker.Size(i.Own), i.How, i.Created.Format("2006-01-02"), i.Name, used)
	}
	what := fmt.Sprintf("%s, %s", count(len(free), "image"), docker.Size(sum))
	switch {
	case len(free) == 0:
		fmt.Fprintln(a.out, "all are in use")
		return nil
	case dry:
		fmt.Fprintf(a.out, "would remove %s\n", what)
		return nil
	case !yes:
		if agreed, err := a.agree(fmt.Sprintf("remove %s?", what)); err != nil || !agreed {
			return err
		}
	}
	var errs []error
	for _, i := range free {
		if err := store.RemoveImage(ctx, i); err != nil {
			errs = append(errs, err)
			continue
		}
		fmt.Fprintln(a.out, "removed "+i.Name)
	}
	if err := errors.Join(errs...); err != nil {
		return &exit{1, err}
	}
	return nil
}

// agree asks a person; only yes is yes.
func (a *app) agree(question string) (bool, error) {
	if !a.onTerminal() {
		return false, bad(errors.New(question + " there is no terminal to ask on: --yes removes them, --dry-run only shows them"))
	}
	fmt.Fprintf(a.out, "%s [yes/no] ", question)
	line, err := bufio.NewReader(a.in).ReadString('\n')
	if err != nil && line == "" {
		return false, nil
	}
	if strings.TrimSpace(strings.ToLower(line)) != "yes" {
		fmt.Fprintln(a.out, "nothing was removed")
		return false, nil
	}
	return true, nil
}

// count is "1 image" or "2 images", "1 trajectory" or "2 trajectories".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if stem, y := strings.CutSuffix(what, "y"); y {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// imageCheck is the doctor's line on the disk use of images.
func imageCheck(ctx context.Context, p sandbox.Provider) check {
	k := check{name: "image disk", fix: "see the line above"}
	store, ok := p.(imageStore)
	if !ok {
		k.detail = "not known"
		return k
	}
	all, err := store.Images(ctx)
	if err != nil {
		k.detail = oneLine(err)
		return k
	}
	var sum int64
	for _, i := range all {
		sum += i.Own
	}
	k.ok, k.detail = true, fmt.Sprintf("%s made or pulled by rollbench, %s of their own", count(len(all), "image"), docker.Size(sum))
	if len(all) > 0 {
		k.detail += "; `rollbench clean --images` removes them"
	}
	return k
}
