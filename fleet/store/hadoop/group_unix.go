//go:build unix

package hadoop

import (
	"os/exec"
	"syscall"
)

// inGroup has a script and the Java machine that it starts end together.
func inGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}
