package main

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// ownGroup makes a process the root of a new group, which the console's ^C does not reach.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

var generateConsoleCtrlEvent = syscall.NewLazyDLL("kernel32.dll").NewProc("GenerateConsoleCtrlEvent")

// terminateGroup asks a process and its children to end: Go programs receive the break as an interrupt.
func terminateGroup(leader *os.Process) {
	generateConsoleCtrlEvent.Call(syscall.CTRL_BREAK_EVENT, uintptr(leader.Pid))
}

// killGroup ends a process and its children while it runs; it can't reach the children of a process that has ended.
func killGroup(leader *os.Process) {
	if exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(leader.Pid)).Run() != nil {
		leader.Kill()
	}
}
