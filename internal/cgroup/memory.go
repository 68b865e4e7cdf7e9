package cgroup

import (
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// MemoryLimit is the memory, in bytes, that this process and others of its control group may have together; 0 if there
// is no bound.
func MemoryLimit() int64 { return memoryLimit(os.DirFS("/")) }

// unbounded is where version 1 begins to mean that there is no bound: it rounds the largest number down to a page.
const unbounded = math.MaxInt64 >> 16 << 16

// memoryLimit looks through the group that the process is in and all around it. A container sees its own group as the
// root, whatever its path is.
func memoryLimit(root fs.FS) (limit int64) {
	list, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(list)) {
		// hierarchy:controllers:path; version 2 has hierarchy 0 and no controllers
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		mount, file := "sys/fs/cgroup", "memory.max"
		switch controllers := strings.Split(parts[1], ","); {
		case controllers[0] == "" && parts[0] == "0":
		case slices.Contains(controllers, "memory"):
			mount, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		for group := path.Join("/", parts[2]); ; group = path.Dir(group) {
			if n := bound(root, path.Join(mount, group, file)); n > 0 && (limit == 0 || n < limit) {
				limit = n
			}
			if group == "/" {
				break
			}
		}
	}
	return limit
}

// bound is the number in a file, 0 for none.
func bound(root fs.FS, name string) int64 {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n <= 0 || n >= unbounded { // "max" is none
		return 0
	}
	return n
}
