package strategy_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/strategy"
)

// TestDocTellsOfEveryField holds the package's doc to naming every field, and every mode.
func TestDocTellsOfEveryField(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	law.Check(t, err)
	fields := reflect.TypeFor[strategy.Strategy]()
	for i := range fields.NumField() {
		if name := fields.Field(i).Name; !strings.Contains(string(doc), name) {
			t.Errorf("the package's doc says nothing of %s", name)
		}
	}
	for _, m := range strategy.Modes() {
		if !strings.Contains(string(doc), "\n//\t"+string(m)+" ") {
			t.Errorf("the table of modes lacks %s", m)
		}
	}
}

// merged asks for a way to merge, and in async, where they are merged only if that is asked for, for gradients to merge.
func merged(s *strategy.Strategy) {
	if s.Merge = strategy.MergeMean; s.Mode == strategy.ModeAsync {
		s.MaxMergeVarNum = 2
	}
}

// TestFieldsOfModes holds the doc's table to what Validate accepts.
func TestFieldsOfModes(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	law.Check(t, err)
	set := map[string]func(*strategy.Strategy){
		"Weighting":                func(s *strategy.Strategy) { s.Weighting = strategy.WeightEqual },
		"GradientMerge":            func(s *strategy.Strategy) { s.GradientMerge.KSteps = 2 },
		"Staleness":                func(s *strategy.Strategy) { s.Staleness = 2 },
		"LookAhead":                func(s *strategy.Strategy) { s.LookAhead = true },
		"NoForesight":              func(s *strategy.Strategy) { s.NoForesight = true },
		"Merge":                    merged,
		"MaxMergeVarNum":           func(s *strategy.Strategy) { s.MaxMergeVarNum = 2 },
		"PushSamples":              func(s *strategy.Strategy) { s.PushSamples = 2 },
		"SendQueueSize":            func(s *strategy.Strategy) { s.SendQueueSize = 2 },
		"SendWaitTimes":            func(s *strategy.Strategy) { s.SendWaitTimes, s.MaxMergeVarNum = 2, 2 },
		"ThreadPoolSize":           func(s *strategy.Strategy) { s.ThreadPoolSize = 2 },
		"IndependentRecvThread":    func(s *strategy.Strategy) { s.IndependentRecvThread = true },
		"MinSendGradNumBeforeRecv": func(s *strategy.Strategy) { s.MinSendGradNumBeforeRecv = 2 },
		"DelayCompensation":        func(s *strategy.Strategy) { s.DelayCompensation = 1 },
		"KSteps":                   func(s *strategy.Strategy) { s.KSteps = 2 },
		"GeoRest":                  func(s *strategy.Strategy) { s.GeoRest = strategy.GeoRestKeep },
		"Payload":                  func(s *strategy.Strategy) { s.Payload = strategy.PayloadInt8 },
		"LocalSGD":                 func(s *strategy.Strategy) { s.LocalSGD.KSteps = 2 },
		"AdaptiveLocalSGD":         func(s *strategy.Strategy) { s.AdaptiveLocalSGD.InitKSteps = 2 },
		"FuseGradSizeInMB":         func(s *strategy.Strategy) { s.FuseGradSizeInMB = 2 },
	}
	head := "//\t                           sync  async  half_async  ssp  geo"
	_, table, ok := strings.Cut(string(doc), head)
	if !ok {
		t.Fatal("the table of fields is gone")
	}
	for line := range strings.Lines(table) {
		line = strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "//\t")
		name, _, _ := strings.Cut(line, " ")
		change := set[name]
		if change == nil {
			continue
		}
		delete(set, name)
		for _, m := range strategy.Modes() {
			s := strategy.Strategy{Mode: m}
			change(&s)
			at := strings.Index(head, " "+string(m)) - len("//\t")
			if at < 0 {
				t.Fatalf("the table of fields has no column of mode %s", m)
			}
			said := strings.Contains(line[min(at, len(line)):min(at+6, len(line))], "x")
			if alone := m == strategy.ModeSync && s.WithoutServers() != ""; alone {
				said = true // the last column, which is of mode sync too
			}
			if err := s.Validate(); (err == nil) != said {
				t.Errorf("%s in mode %s: the doc says %t, Validate %v", name, m, said, err)
			}
		}
		said := len(line) > len(head)-len("//\t") // something is in the last column
		s := strategy.Sync()
		change(&s)
		if ok := s.Validate() == nil && s.WithServers() == ""; ok != said {
			t.Errorf("%s without servers: the doc says %t, it is %t", name, said, ok)
		}
	}
	if len(set) > 0 {
		t.Errorf("the table of fields lacks %v", reflect.ValueOf(set).MapKeys())
	}
}
