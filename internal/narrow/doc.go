// Package narrow keeps rows of numbers in less memory: as float32s, as IEEE 754 halves, or as whole numbers of 8 bits
// in units of a 127th of their row's largest magnitude.
//
//	rows := narrow.New(narrow.Int8, dim, n)
//	rows.Append(w)               // any number of rows, as float32s
//	rows.Copy(w[:dim], i)        // one of them
//
// A number that was read is stored again without change, but for a unit in the last place of the scale of 8 bits.
package narrow
