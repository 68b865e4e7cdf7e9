package jobs_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet/internal/jobs"
	"github.com/gofleet/gofleet/fleet/internal/twin"
	"github.com/gofleet/gofleet/internal/law"
)

// TestEveryFeatureMeetsEveryStrike: what a program can have is drawn beside whatever can befall a role.
func TestEveryFeatureMeetsEveryStrike(t *testing.T) {
	law.Slow(t)
	met, features, strikes := map[string]int{}, map[string]int{}, map[string]int{}
	n, least := law.Tries(10_000), 10
	if n < 10_000 {
		least = 0
	}
	for seed := range uint64(n) {
		p := jobs.Draw(seed)
		for _, f := range featuresOf(p) {
			features[f]++
			for _, s := range strikesOf(p) {
				strikes[s]++
				met[f+" × "+s]++
			}
		}
	}
	for f, n := range features {
		for s := range strikes {
			both := f + " × " + s
			if met[both] < least && both != "Journal × kill server" { // it comes back, and is asked to end
				t.Errorf("drawn too seldom: %s, %d of %d", both, met[both], n)
			}
		}
	}
	for _, of := range []reflect.Type{reflect.TypeFor[jobs.Program](), reflect.TypeFor[twin.More]()} {
		for field := range of.Fields() {
			if is := field.Type.Kind(); is != reflect.Struct && field.Name != "Lives" && features[field.Name] == 0 {
				t.Errorf("%v.%s is never drawn", of, field.Name)
			}
		}
	}
}

// featuresOf are the fields that a program has set, and its mode.
func featuresOf(p jobs.Program) (all []string) {
	for _, v := range []reflect.Value{reflect.ValueOf(p), reflect.ValueOf(p.Model.More)} {
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; !v.Field(i).IsZero() && v.Field(i).Kind() != reflect.Struct && name != "Lives" {
				all = append(all, name)
			}
		}
	}
	if p.Strategy.PushSamples > 1 {
		all = append(all, "PushSamples")
	}
	kind := "with servers"
	if p.Lives[0].Servers == 0 {
		kind = "without"
	}
	return append(all, fmt.Sprintf("%v %s", p.Strategy.Mode, kind))
}

// strikesOf are what befalls a program's roles, by role and by place.
func strikesOf(p jobs.Program) (all []string) {
	for _, l := range p.Lives {
		for _, s := range l.Strikes {
			role, _, _ := strings.Cut(s.Role, " ")
			all = append(all, s.Kind+" "+role, s.Kind+" at "+s.At)
		}
	}
	return all
}
