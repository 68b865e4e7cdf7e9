package main

import (
	"slices"
	"strings"
	"testing"
)

// textOf writes variables as "NAME=value", sorted.
func textOf(vars []variable) []string {
	var out []string
	for _, v := range vars {
		out = append(out, v.name+"="+v.value)
	}
	slices.Sort(out)
	return out
}

func TestEnvironment(t *testing.T) {
	// Serial: it sets variables of the environment.
	t.Setenv("PADDLE_WITH_GLOO", "")
	j := &job{
		servers: []endpoint{{"10.0.0.1", "36000"}, {"::1", "36001"}},
		workers: []endpoint{{"10.0.0.1", "6170"}, {"10.0.0.2", "6171"}, {"10.0.0.2", "6172"}},
		here:    []role{{server, 1}, {worker, 1}, {worker, 2}},
		scratch: "/tmp/x",
		live:    true,
		width:   60,
	}
	common := []string{
		"PADDLE_GLOO_FS_PATH=/tmp/x",
		"PADDLE_GLOO_HTTP_ENDPOINT=10.0.0.1:36000",
		"PADDLE_GLOO_RENDEZVOUS=3",
		"PADDLE_HETER_TRAINER_IP_PORT_LIST=",
		"PADDLE_PSERVERS_IP_PORT_LIST=10.0.0.1:36000,[::1]:36001",
		"PADDLE_TRAINERS_NUM=3",
		"PADDLE_TRAINER_ENDPOINTS=10.0.0.1:6170,10.0.0.2:6171,10.0.0.2:6172",
		"PADDLE_WITH_GLOO=0",
	}
	tests := []struct {
		r    role
		want []string
	}{
		{role{server, 1}, []string{"TRAINING_ROLE=PSERVER", "POD_IP=::1", "PADDLE_PORT=36001", "FLEET_PROGRESS=plain"}},
		{role{worker, 1}, []string{"TRAINING_ROLE=TRAINER", "PADDLE_TRAINER_ID=1", "FLEET_PROGRESS=live", "COLUMNS=60"}},
		{role{worker, 2}, []string{"TRAINING_ROLE=TRAINER", "PADDLE_TRAINER_ID=2", "FLEET_PROGRESS=plain"}},
	}
	for _, tt := range tests {
		want := slices.Sorted(slices.Values(append(tt.want, common...)))
		if got := textOf(j.environment(tt.r)); !slices.Equal(got, want) {
			t.Errorf("%v is told\n%s\nwant\n%s", tt.r, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	j.width = 0
	if got := textOf(j.environment(role{worker, 1})); slices.ContainsFunc(got, func(v string) bool { return strings.HasPrefix(v, "COLUMNS=") }) {
		t.Errorf("a width that is not known is told: %q", got)
	}
	j.live = false
	if got := textOf(j.environment(role{worker, 1})); !slices.Contains(got, "FLEET_PROGRESS=plain") {
		t.Errorf("without a terminal the first worker is told %q", got)
	}
	for env, want := range map[string]string{"off": "off", "plain": "plain", "live": "", "": "", "lively": ""} {
		con, screen := consoleOn(t, false)
		if got := asked(env, con); got != want || strings.Contains(screen(), "FLEET_PROGRESS=lively is ignored") != (env == "lively") {
			t.Errorf("FLEET_PROGRESS=%s is taken as %q; fleetrun says %s", env, got, screen())
		}
	}
	j.shows = "off"
	if got := textOf(j.environment(role{worker, 1})); !slices.Contains(got, "FLEET_PROGRESS=off") {
		t.Errorf("where no progress is wanted the first worker is told %q", got)
	}
	for env, n := range map[string]int{"": 3, ":8080": 3, ":8081": 1} {
		con, screen := consoleOn(t, false)
		roles := &job{here: make([]role, n)}
		if got := textOf(roles.unprobed(env, con)); (len(got) == 1) != (n > 1 && env != "") || (len(got) == 1) != strings.Contains(screen(), "FLEET_HEALTH=:8080 is ignored") {
			t.Errorf("FLEET_HEALTH=%s of %d roles: %q; fleetrun says %s", env, n, got, screen())
		}
	}
	t.Setenv("PADDLE_WITH_GLOO", "2")
	if got := textOf(j.environment(role{worker, 1})); !slices.Contains(got, "PADDLE_WITH_GLOO=2") {
		t.Errorf("PADDLE_WITH_GLOO=2 is not handed on: %q", got)
	}
}

func TestCollectiveEnvironment(t *testing.T) {
	t.Parallel()
	j := &job{workers: []endpoint{{"10.0.0.1", "6170"}, {"10.0.0.2", "6170"}}, here: []role{{worker, 1}}, live: true}
	want := []string{"FLEET_PROGRESS=live", "PADDLE_CURRENT_ENDPOINT=10.0.0.2:6170", "PADDLE_TRAINERS_NUM=2",
		"PADDLE_TRAINER_ENDPOINTS=10.0.0.1:6170,10.0.0.2:6170", "PADDLE_TRAINER_ID=1"}
	if got := textOf(j.environment(role{worker, 1})); !slices.Equal(got, want) {
		t.Errorf("a worker is told %q, want %q", got, want)
	}
	if got := inherit([]string{"TRAINING_ROLE=PSERVER", "PADDLE_PSERVERS_IP_PORT_LIST=a:1"}, j.environment(role{worker, 1})); len(got) != len(want) {
		t.Errorf("another job's role is handed on: %q", got)
	}
}

func TestInherit(t *testing.T) {
	t.Parallel()
	base := []string{"HOME=/root", "POD_IP=1.2.3.4", "PADDLE_TRAINER_ID=5", "TRAINING_ROLE=PSERVER", "FLEET_TOKEN=a=b", "PADDLE_TRAINERS=x"}
	before := slices.Clone(base)
	got := inherit(base, []variable{{"TRAINING_ROLE", "TRAINER"}, {"PADDLE_PORT", "7"}})
	if want := []string{"HOME=/root", "FLEET_TOKEN=a=b", "TRAINING_ROLE=TRAINER", "PADDLE_PORT=7"}; !slices.Equal(got, want) {
		t.Errorf("inherit = %q, want %q", got, want)
	}
	if !slices.Equal(base, before) {
		t.Errorf("the parent's environment was changed to %q", base)
	}
}
