package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// findings are the report of doctor, for a person or a program.
type findings struct {
	Sections []section `json:"sections"`
	// Missing are the problems that keep a role from starting or from reaching its peers, each with a remedy.
	Missing []string `json:"missing"`
	// Notes are remarks on what may be intended.
	Notes []string `json:"notes"`
}

type section struct {
	Title string    `json:"title"`
	Lines []finding `json:"lines"`
}

type finding struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// quiet marks a normal finding, which is reported to programs only.
	quiet bool
}

func (f *findings) section(title string) { f.Sections = append(f.Sections, section{Title: title}) }

// say adds a line to the last section.
func (f *findings) say(name, format string, args ...any) {
	s := &f.Sections[len(f.Sections)-1]
	s.Lines = append(s.Lines, finding{Name: name, Value: fmt.Sprintf(format, args...)})
}

// usual is say for a normal finding, which a person need not read.
func (f *findings) usual(name, format string, args ...any) {
	f.say(name, format, args...)
	lines := f.Sections[len(f.Sections)-1].Lines
	lines[len(lines)-1].quiet = true
}

func (f *findings) lacks(format string, args ...any) {
	f.Missing = append(f.Missing, fmt.Sprintf(format, args...))
}

func (f *findings) says(format string, args ...any) {
	f.Notes = append(f.Notes, fmt.Sprintf(format, args...))
}

// write prints the report, with the names in a column.
func (f *findings) write(out io.Writer) {
	for _, s := range f.Sections {
		fmt.Fprintf(out, "%s\n", s.Title)
		width := 0
		lines := slices.DeleteFunc(slices.Clone(s.Lines), func(l finding) bool { return l.quiet })
		for _, l := range lines {
			width = max(width, len(l.Name))
		}
		for _, l := range lines {
			value := strings.ReplaceAll(strings.TrimSpace(l.Value), "\n", "\n"+strings.Repeat(" ", width+4))
			fmt.Fprintf(out, "  %-*s  %s\n", width, l.Name, value)
		}
	}
	if len(f.Notes) > 0 {
		fmt.Fprintf(out, "notes\n  %s\n", strings.Join(f.Notes, "\n  "))
	}
	if len(f.Missing) == 0 {
		fmt.Fprintln(out, "nothing is missing")
		return
	}
	fmt.Fprintf(out, "missing\n  %s\n", strings.Join(f.Missing, "\n  "))
}
