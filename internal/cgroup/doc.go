// Package cgroup reads how much memory the system lets this process have: on Linux the bound of its control group, of
// either version, which is what containers and pods are given. Elsewhere there is none. It can have the garbage
// collector keep to that.
package cgroup
