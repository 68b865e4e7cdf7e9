package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// benchmarkLine is a result of go test: its name without the number of cores, and pairs of a value and a unit.
var benchmarkLine = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)

// benchmarks are the results in an output, by name.
func benchmarks(out string) map[string]figures {
	all := map[string]figures{}
	for line := range strings.Lines(out) {
		m := benchmarkLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		f, fields := figures{}, strings.Fields(m[2])
		for i := 0; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				f[fields[i+1]] = v
			}
		}
		all[m[1]] = f
	}
	return all
}

// benchmarkOf finds one result.
func benchmarkOf(name string) func(out string) (figures, error) {
	return func(out string) (figures, error) {
		f, ok := benchmarks(out)[name]
		if !ok {
			return nil, fmt.Errorf("the output has no line of Benchmark%s: %s", name, out)
		}
		return f, nil
	}
}

// tableIn are the lines of an output that are one of a table in Markdown.
func tableIn(out string) (table string) {
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "|") {
			table += line + "\n"
		}
	}
	return table
}

// object are the figures that a peer in Python or C has printed, as JSON objects on lines of their own; logs of a role
// have other lines too.
func object(out string) (figures, error) {
	f := figures{}
	return f, objects(out, &f)
}

// objects reads all of them into one value.
func objects(out string, into any) error {
	found := false
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "{") {
			found = true
			if err := json.Unmarshal([]byte(line), into); err != nil {
				return fmt.Errorf("%.100q: %w", line, err)
			}
		}
	}
	if !found {
		return fmt.Errorf("no JSON object in the output: %s", out)
	}
	return nil
}

var (
	rateLine = regexp.MustCompile(`([\d,]+) examples/s`)
	aucLine  = regexp.MustCompile(`test AUC (\d\.\d+)`)
)

// trained are rate and AUC in what an example prints, or the launcher of several; the last of each counts.
func trained(out string) (figures, error) {
	f := figures{}
	for name, line := range map[string]*regexp.Regexp{"examples/s": rateLine, "AUC": aucLine} {
		if all := line.FindAllStringSubmatch(out, -1); len(all) > 0 {
			v, err := strconv.ParseFloat(strings.ReplaceAll(all[len(all)-1][1], ",", ""), 64)
			if err != nil {
				return nil, err
			}
			f[name] = v
		}
	}
	if f["examples/s"] == 0 {
		return nil, fmt.Errorf("no rate in the output: %s", out)
	}
	return f, nil
}

// twinLine has what an example has learnt after an epoch, or how fast, and PyTorch's.
var twinLine = regexp.MustCompile(`: (.*?) ([\d.]+)(?: ± \S+)?(?: \(\S+\))?, PyTorch's ([\d.]+)`)

// twins are value and rate of both in what a TestTwin prints; those of the last epoch count.
func twins(out string) (figures, error) {
	f := figures{}
	for _, m := range twinLine.FindAllStringSubmatch(out, -1) {
		name := "value"
		if strings.HasSuffix(m[1], "the best pass:") {
			name = "examples/s"
		}
		a, err := strconv.ParseFloat(m[2], 64)
		b, bad := strconv.ParseFloat(m[3], 64)
		if err := errors.Join(err, bad); err != nil {
			return nil, err
		}
		f[name], f["PyTorch|"+name] = a, b
	}
	if len(f) != 4 {
		return nil, fmt.Errorf("want values and rates of both in the output: %s", out)
	}
	return f, nil
}

// timing is what a worker of ps-lite has measured, as one of fleet's BenchmarkProcesses has.
type timing struct {
	Pulls, Pushes []time.Duration
	Took          time.Duration
}

// traffic are the figures of BenchmarkProcesses, of workers' timings: the slowest's step, all pulls and pushes.
func traffic(outs []string) (figures, error) {
	f := figures{}
	var pulls, pushes []time.Duration
	for _, out := range outs {
		var t timing
		if err := objects(out, &t); err != nil || len(t.Pulls) == 0 {
			return nil, fmt.Errorf("a worker has timed %d pulls: %w", len(t.Pulls), err)
		}
		f["step-us"] = max(f["step-us"], micros(t.Took)/float64(len(t.Pulls)))
		pulls, pushes = append(pulls, t.Pulls...), append(pushes, t.Pushes...)
	}
	for name, times := range map[string][]time.Duration{"pull": pulls, "push": pushes} {
		slices.Sort(times)
		f[name+"-p50-us"], f[name+"-p99-us"] = micros(times[len(times)/2]), micros(times[len(times)*99/100])
	}
	return f, nil
}

func micros(d time.Duration) float64 { return float64(d) / 1000 }
