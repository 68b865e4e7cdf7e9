package dataset

import "hash/crc32"

// HashID returns the id of a category: the CRC-32 (IEEE) of the text "field:token", modulo height (1 or more). The
// function never changes, so that ids are the same in every process, on every machine and in every release. Ids are
// below 2³² for any height.
func HashID(field, token string, height int64) int64 {
	return int64(crc32.ChecksumIEEE([]byte(field+":"+token))) % height
}

// maxHash is the largest height that ids can fill.
const maxHash = 1 << 32
