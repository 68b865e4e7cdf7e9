package dataset

import "hash/crc32"

// HashID is the id of a category: the CRC-32 (IEEE) of the text "field:token", modulo height (1 or more). The function is
// frozen, so that ids are the same in every process, on every machine and in every release.
func HashID(field, token string, height int64) int64 {
	return int64(crc32.ChecksumIEEE([]byte(field+":"+token))) % height
}

// hasher hashes the tokens of one field.
type hasher struct {
	prefix uint32 // the sum of "field:"
	height int64
}

func newHasher(field string, height int64) hasher {
	return hasher{crc32.ChecksumIEEE([]byte(field + ":")), height}
}

func (h hasher) id(token []byte) int64 {
	return int64(crc32.Update(h.prefix, crc32.IEEETable, token)) % h.height
}
