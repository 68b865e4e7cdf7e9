package main

import (
	"context"
	"slices"
	"strings"

	"github.com/gofleet/gofleet/internal/mistyped"
	"github.com/gofleet/gofleet/internal/runs"
	"github.com/gofleet/gofleet/rolemaker"
)

// identify reports the role of a process with this environment, and the variables that were read to find it. It calls
// [rolemaker.FromEnvironment]; ranks of MPI exchange no addresses for it.
func (d *doctor) identify(p *patient) {
	title, prefix := "role", ""
	if p.name != "" {
		title, prefix = p.name+", as fleetrun would start it", p.name+": "
	}
	d.section(title)
	var looked []string
	look := func(name string) string {
		if !slices.Contains(looked, name) {
			looked = append(looked, name)
		}
		return p.getenv(name)
	}
	maker := rolemaker.FromEnvironment(look)
	id, err := maker.Identity()
	_, meets := maker.(interface {
		Resolve(ctx context.Context) (rolemaker.Identity, error)
	})
	if err == nil && !meets {
		err = id.Validate()
	}
	p.id, p.told = id, err == nil || meets
	say := d.say
	if p.name != "" && p.told { // fleetrun has made its environment
		say = d.usual
	}
	say("role maker", "%v", maker)
	switch {
	case err != nil && meets:
		d.say("this process", "%v", err)
	case err != nil:
		d.say("this process", "can't tell who it is: %v", err)
		d.lacks("%sset what is missing or wrong: %v", prefix, err)
	case meets:
		d.say("this process", "%v %d, of %d workers and %d servers, whose endpoints are known when the ranks have met",
			id.Role, id.Index, id.Workers, len(id.Servers))
	default:
		d.say("this process", "%v", id)
	}
	for _, note := range maker.(interface{ Notes() []string }).Notes() {
		d.says("%s%s", prefix, note)
	}
	for _, name := range mistyped.Ours() {
		look(name)
	}
	d.showVariables(p, looked, say)
	if _, err := mistyped.CheckOurs(); err != nil && !slices.Contains(d.Missing, err.Error()) {
		d.lacks("%v", err)
	}
}

// showVariables lists the variables that are set, one a line, and those that are not if the role is unclear: otherwise
// none is missing.
func (d *doctor) showVariables(p *patient, names []string, say func(name, format string, args ...any)) {
	var unset []string
	for _, name := range names {
		switch value := p.getenv(name); {
		case strings.TrimSpace(value) == "":
			unset = append(unset, name)
		case runs.Secret(name):
			say(name, "set, and not shown")
		default:
			say(name, "%s", strings.Join(fold(value, 100), "\n"))
		}
	}
	if p.told {
		d.usual("not set", "%s", strings.Join(wrap(unset, 100), "\n"))
		return
	}
	ours := slices.DeleteFunc(unset, func(name string) bool {
		return !strings.HasPrefix(name, "FLEET_") && !strings.HasPrefix(name, "PADDLE_") && name != "TRAINING_ROLE"
	})
	d.say("not set", "%s", strings.Join(wrap(ours, 100), "\n"))
}

// wrap puts words into lines of at most width columns, unless a word is longer.
func wrap(words []string, width int) (lines []string) {
	for _, w := range words {
		if n := len(lines); n > 0 && len(lines[n-1])+1+len(w) <= width {
			lines[n-1] += " " + w
			continue
		}
		lines = append(lines, w)
	}
	return lines
}
