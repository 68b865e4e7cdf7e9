package twin

import (
	"slices"
	"strings"

	"github.com/gofleet/gofleet/strategy"
)

// options are the fields of a strategy that are drawn, each with what says whether a strategy sets it.
var options = map[string]func(s strategy.Strategy) bool{
	"Mode":                     func(s strategy.Strategy) bool { return s.Mode != "" },
	"Weighting":                func(s strategy.Strategy) bool { return s.Weighting != "" },
	"GradientMerge":            func(s strategy.Strategy) bool { return s.GradientMerge.KSteps > 1 },
	"Placement":                func(s strategy.Strategy) bool { return s.Placement != "" },
	"NoSlice":                  func(s strategy.Strategy) bool { return s.NoSlice },
	"MinBlockSize":             func(s strategy.Strategy) bool { return s.MinBlockSize > 0 },
	"SmallBlocks":              func(s strategy.Strategy) bool { return s.SmallBlocks },
	"Codec":                    func(s strategy.Strategy) bool { return s.Codec != "" },
	"Staleness":                func(s strategy.Strategy) bool { return s.Staleness > 0 },
	"LookAhead":                func(s strategy.Strategy) bool { return s.LookAhead },
	"NoForesight":              func(s strategy.Strategy) bool { return s.NoForesight },
	"Merge":                    func(s strategy.Strategy) bool { return s.Merge != "" },
	"MaxMergeVarNum":           func(s strategy.Strategy) bool { return s.MaxMergeVarNum > 1 },
	"ThreadPoolSize":           func(s strategy.Strategy) bool { return s.ThreadPoolSize > 1 },
	"HeartbeatInterval":        func(s strategy.Strategy) bool { return s.HeartbeatInterval > 0 },
	"WorkerTimeout":            func(s strategy.Strategy) bool { return s.WorkerTimeout > 0 },
	"StartTimeout":             func(s strategy.Strategy) bool { return s.StartTimeout > 0 },
	"WaitTimeout":              func(s strategy.Strategy) bool { return s.WaitTimeout > 0 },
	"FuseGradSizeInMB":         func(s strategy.Strategy) bool { return s.FuseGradSizeInMB > 0 },
	"Payload":                  func(s strategy.Strategy) bool { return s.Payload != "" },
	"NotFinite":                func(s strategy.Strategy) bool { return s.NotFinite != "" },
	"SendQueueSize":            func(s strategy.Strategy) bool { return s.SendQueueSize > 1 },
	"SendWaitTimes":            func(s strategy.Strategy) bool { return s.SendWaitTimes > 0 },
	"IndependentRecvThread":    func(s strategy.Strategy) bool { return s.IndependentRecvThread },
	"MinSendGradNumBeforeRecv": func(s strategy.Strategy) bool { return s.MinSendGradNumBeforeRecv > 1 },
	"Recovery":                 func(s strategy.Strategy) bool { return s.Recovery != strategy.Recovery{} },
	"KSteps":                   func(s strategy.Strategy) bool { return s.KSteps > 0 },
	"DelayCompensation":        func(s strategy.Strategy) bool { return s.DelayCompensation > 0 },
	"LocalSGD":                 func(s strategy.Strategy) bool { return s.LocalSGD.KSteps > 0 },
	"AdaptiveLocalSGD":         func(s strategy.Strategy) bool { return s.AdaptiveLocalSGD.InitKSteps > 0 },
	"GeoRest":                  func(s strategy.Strategy) bool { return s.GeoRest != "" },
	"MaxFrame":                 func(s strategy.Strategy) bool { return s.MaxFrame > 0 },
}

// left are the fields that are not drawn, each with the reason.
var left = map[string]string{}

// Options are the names of the fields that are drawn, and of those that are not.
func Options() (drawn, not []string) {
	for name := range options {
		drawn = append(drawn, name)
	}
	for name := range left {
		not = append(not, name)
	}
	return drawn, not
}

// impossible says whether an option and an event can't be in one program.
func impossible(option, event string) bool {
	local := option == "LocalSGD" || option == "AdaptiveLocalSGD" // without rows and servers
	if local && (event == "shrink" || event == "batch" || event == "all rows are dropped" ||
		strings.HasPrefix(event, "end ") ||
		event == "kill a server" || event == "pause a server") {
		return true
	}
	switch event {
	case "kill a server", "kill a worker", "pause a server", "pause a worker", "end a server", "end a worker",
		"end for longer than the timeout", "kill for longer than the timeout",
		"pause for longer than the timeout":
		return option == "dropout"
	case "shrink", "all rows are dropped", "batch":
		return option == "0 tables"
	case "a base leaves rows out": // of a table that counts shows, which has no place in geo
		return local || slices.Contains([]string{"0 tables", "kind geo", "KSteps", "GeoRest"}, option)
	case "uneven epoch":
		return option == "1 workers" || option == "kind alone"
	}
	return false
}
