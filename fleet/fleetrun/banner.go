package main

import (
	"cmp"
	"flag"
	"fmt"
	"strings"
	"unicode/utf8"
)

// showJob prints what is about to start: one line, or, with -v, the arguments and the environment of the first server
// and the first worker.
func showJob(con *console, o *options, j *job) {
	if con.quiet {
		return
	}
	if con.verbose {
		con.print(arguments(o))
	} else {
		con.say("%s; logs in %s; -v shows what roles are told", summary(j), o.logDir)
	}
	for i, given := range o.ignoredDevices() {
		if i == 0 && o.perDevice {
			con.say("%s: gofleet computes on CPUs, and starts a worker for each", given)
			continue
		}
		con.say("%s is ignored: gofleet computes on CPUs", given)
	}
	for _, k := range []kind{server, worker} {
		if first, ok := j.first(k); ok && con.verbose {
			con.say("Local %s start %d processes. First process distributed environment info (Only For Debug):", k,
				j.count(k))
			con.print(table(j.environment(first)) + "\n")
		}
	}
}

// summary describes the roles of the job, and how many of them run here.
func summary(j *job) string {
	var parts []string
	for _, of := range []struct {
		kind kind
		at   []endpoint
	}{{server, j.servers}, {worker, j.workers}} {
		text := fmt.Sprintf("%d %v", len(of.at), of.kind)
		if len(of.at) > 1 {
			text += "s"
		}
		if here := j.count(of.kind); here < len(of.at) {
			text += fmt.Sprintf(", %d of them here", here)
		}
		if len(of.at) > 0 && (of.kind == server || j.collective()) {
			text += " (" + brief(of.at) + ")"
		}
		if len(of.at) > 0 {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, ", ")
}

// brief is a list, whose middle is left out if it is long.
func brief(list []endpoint) string {
	if n := len(list); n > 4 {
		return fmt.Sprintf("%v, %v, … %v", list[0], list[1], list[n-1])
	}
	return strings.ReplaceAll(join(list), ",", ", ")
}

// arguments lists the command line, one argument a line.
func arguments(o *options) string {
	var b strings.Builder
	b.WriteString("-----------  Configuration Arguments -----------\n")
	show := func(name string, value any) { fmt.Fprintf(&b, "%s: %v\n", name, value) }
	programShown := false
	o.flags.VisitAll(func(f *flag.Flag) {
		if !programShown && f.Name > "training_script" {
			show("training_script", o.program)
			show("training_script_args", fmt.Sprintf("%q", o.args))
			programShown = true
		}
		if !o.refused[f.Name] && !o.aliases[f.Name] {
			show(f.Name, shown(f))
		}
	})
	b.WriteString("------------------------------------------------\n")
	return b.String()
}

// shown is a flag's value; that of --ips is this machine if none are given.
func shown(f *flag.Flag) string {
	if f.Name == "ips" {
		return cmp.Or(f.Value.String(), "127.0.0.1")
	}
	return f.Value.String()
}

// Columns of a table of variables.
const (
	nameWidth  = 40
	valueWidth = 45
	tableWidth = nameWidth + 2 + valueWidth
)

// table draws variables: names to the right, values in the middle, lists of endpoints over as many lines as they need.
func table(vars []variable) string {
	var b strings.Builder
	line := func(ends, body string) { fmt.Fprintf(&b, "    %s%s%s\n", ends, body, ends) }
	row := func(name, value string) {
		line("|", fmt.Sprintf("%*s  %s", nameWidth, name, centre(value, valueWidth)))
	}
	line("+", strings.Repeat("=", tableWidth))
	row("Distributed Envs", "Value")
	line("+", strings.Repeat("-", tableWidth))
	for _, v := range vars {
		name := v.name
		for _, part := range fold(v.value, valueWidth) {
			row(name, part)
			name = ""
		}
	}
	line("+", strings.Repeat("=", tableWidth))
	return b.String()
}

// centre pads text with spaces on both sides, the odd one on the right.
func centre(text string, width int) string {
	gap := max(0, width-utf8.RuneCountInString(text))
	return strings.Repeat(" ", gap/2) + text + strings.Repeat(" ", gap-gap/2)
}

// fold breaks a list after its commas into lines of at most width, unless a single entry is longer.
func fold(list string, width int) []string {
	lines := []string{""}
	for part := range strings.SplitAfterSeq(list, ",") {
		last := &lines[len(lines)-1]
		if *last != "" && len(*last)+len(part) > width {
			lines = append(lines, part)
			continue
		}
		*last += part
	}
	return lines
}
