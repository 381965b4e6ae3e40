package compose

import (
	"fmt"
	"slices"
	"strings"
)

// settle checks what concerns services together, and puts companions in the order
// in which they start.
func (p *project) settle(file string, out *Project) error {
	switch {
	case len(p.names) == 0:
		return fmt.Errorf("%s: it has no services", file)
	case out.Main != nil:
	case p.options.AddMain:
		out.Main = &Service{Name: p.options.Main, Names: []string{p.options.Main}, Env: map[string]string{}}
	case len(out.Companions) == 1 && len(p.names) == 1:
		out.Main, out.Companions = out.Companions[0], nil
	default:
		return fmt.Errorf("%s: there is no service %s, in which the policy works; it has %s", file, p.options.Main, strings.Join(p.names, ", "))
	}
	all := append([]*Service{out.Main}, out.Companions...)
	for _, s := range out.Companions {
		if s.Image == "" && s.Build == nil {
			return fmt.Errorf("%s: line %d: service %s: it has neither image nor build", p.found[s.Name].file, p.found[s.Name].n.line, s.Name)
		}
	}
	if err := p.clash(all); err != nil {
		return err
	}
	p.separate(all)
	order, err := p.sorted(all)
	if err != nil {
		return err
	}
	out.Companions = slices.DeleteFunc(order, func(s *Service) bool { return s == out.Main })
	return nil
}

// clash: services that share a network namespace cannot listen on the same port.
func (p *project) clash(all []*Service) error {
	taken := map[string]string{}
	for _, s := range all {
		if s.NoNetwork && s != all[0] {
			continue
		}
		for _, port := range s.Ports {
			if other, there := taken[port]; there {
				e := p.found[s.Name]
				return fmt.Errorf("%s: line %d: service %s: port %s is also that of service %s: all services of a sandbox share one network; give one of them another port", e.file, e.n.line, s.Name, port, other)
			}
			taken[port] = s.Name
		}
	}
	return nil
}

// separate warns where services that the file keeps apart see one another here.
func (p *project) separate(all []*Service) {
	of := func(s *Service) []string {
		e, there := p.found[s.Name]
		if !there {
			return []string{"default"}
		}
		n := e.n.get("networks")
		if n == nil {
			return []string{"default"}
		}
		var names []string
		for _, item := range n.items {
			names = append(names, item.text)
		}
		return append(names, n.keys...)
	}
	for i, a := range all {
		for _, b := range all[:i] {
			if !slices.ContainsFunc(of(a), func(name string) bool { return slices.Contains(of(b), name) }) {
				p.warn(fmt.Sprintf("%s: services %s and %s are in different networks; here all services share the sandbox's", p.found[a.Name].file, b.Name, a.Name))
				return
			}
		}
	}
}

// sorted puts each service after those that it depends on.
func (p *project) sorted(all []*Service) ([]*Service, error) {
	var out []*Service
	state := map[string]int{} // 1 while it is being placed, 2 once it is
	byName := map[string]*Service{}
	for _, s := range all {
		byName[s.Name] = s
	}
	var place func(s *Service) error
	place = func(s *Service) error {
		switch state[s.Name] {
		case 1:
			e := p.found[s.Name]
			return fmt.Errorf("%s: line %d: service %s: depends_on: it depends on itself, by way of others", e.file, e.n.line, s.Name)
		case 2:
			return nil
		}
		state[s.Name] = 1
		s.After = slices.DeleteFunc(s.After, func(d Dependency) bool { return byName[d.Service] == nil })
		for _, d := range s.After {
			if err := place(byName[d.Service]); err != nil {
				return err
			}
		}
		state[s.Name] = 2
		out = append(out, s)
		return nil
	}
	for _, s := range all {
		if err := place(s); err != nil {
			return nil, err
		}
	}
	return out, nil
}
