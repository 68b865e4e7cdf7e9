package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Roles returns the roles that a fleetrun has started, by name, with their process ids, for programs that kill some of
// them: a test of fleetrun, and the command of package chaos. Only Linux lists the children of a process.
func Roles(fleetrun int) map[string]int {
	roles := map[string]int{}
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", fleetrun))
	for _, file := range tasks {
		children, _ := os.ReadFile(file) // a thread may have ended
		for child := range strings.FieldsSeq(string(children)) {
			pid, err := strconv.Atoi(child)
			if role := roleOf(pid); err == nil && role != "" {
				roles[role] = pid
			}
		}
	}
	return roles
}

// roleOf returns the role in a process's environment; "" if the process has gone, or has not begun.
func roleOf(pid int) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	env := map[string]string{}
	for entry := range strings.SplitSeq(string(data), "\x00") {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	switch env["TRAINING_ROLE"] {
	case "PSERVER":
		own := env["POD_IP"] + ":" + env["PADDLE_PORT"]
		return fmt.Sprint("server ", slices.Index(strings.Split(env["PADDLE_PSERVERS_IP_PORT_LIST"], ","), own))
	case "TRAINER":
		return "worker " + env["PADDLE_TRAINER_ID"]
	}
	return ""
}
