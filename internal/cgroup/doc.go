// Package cgroup reads the memory limit of this process: on Linux that of its control group, of either version, as
// containers and pods have. On other systems there is none. It can set the garbage collector's limit by it.
package cgroup
