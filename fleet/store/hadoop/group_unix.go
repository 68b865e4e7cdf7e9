//go:build unix

package hadoop

import (
	"os/exec"
	"syscall"
)

// inGroup puts a script and the Java machine that it starts into one process group, so that they end together.
func inGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}
