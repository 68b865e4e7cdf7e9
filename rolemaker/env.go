package rolemaker

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/gofleet/gofleet/internal/mistyped"
)

// env looks up environment variables. A variable that is set to nothing counts as not set.
type env func(name string) string

// environment is the environment of get, the process's own if get is nil.
func environment(get func(string) string) env {
	if get == nil {
		return os.Getenv
	}
	return get
}

// integer is a variable's value; set reports whether it has one.
func (e env) integer(name string) (n int, set bool, err error) {
	value := strings.TrimSpace(e(name))
	if value == "" {
		return 0, false, nil
	}
	n, err = strconv.Atoi(value)
	if err != nil {
		return 0, true, fmt.Errorf("%s is %q; it must be a number", name, value)
	}
	return n, true, nil
}

// list are the comma-separated values of a variable, without surrounding spaces.
func (e env) list(name string) []string {
	value := strings.TrimSpace(e(name))
	if value == "" {
		return nil
	}
	list := strings.Split(value, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

// endpoints is a list of endpoints.
func (e env) endpoints(name string) ([]string, error) {
	list := e.list(name)
	if err := checkEndpoints(list); err != nil {
		return nil, fmt.Errorf("%s is %q: %w", name, e(name), err)
	}
	return list, nil
}

// either is the value of a variable that has an older name too, and the name that is set.
func (e env) either(name, older string) (value, from string, err error) {
	value, other := strings.TrimSpace(e(name)), strings.TrimSpace(e(older))
	switch {
	case value != "" && other != "" && value != other:
		return "", "", fmt.Errorf("%s is %q but %s is %q; unset one", name, value, older, other)
	case value == "" && other != "":
		return other, older, nil
	}
	return value, name, nil
}

// found are the names of the variables that are set.
func (e env) found(names []string) []string {
	var found []string
	for _, n := range names {
		if strings.TrimSpace(e(n)) != "" {
			found = append(found, n)
		}
	}
	return found
}

// mistyped returns an error for a variable whose name is similar to one that is read, and which has no effect.
func (e env) mistyped() error {
	known := append(paddleNames(), envIP, envOldIP, envPort, envCurrent)
	for _, prefix := range []string{"PADDLE_", "TRAINING_"} {
		for _, name := range mistyped.Unread(prefix, known) {
			if err := mistyped.Refuse(prefix, name, known); err != nil && e(name) != "" {
				return err
			}
		}
	}
	return nil
}
