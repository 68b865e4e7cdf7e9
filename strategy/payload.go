package strategy

// Payload is the number format of pushed gradients. The rounding error of a gradient stays on the worker and is added
// to its next gradient of the same variable or row, so that nothing is lost over many steps. Each training thread keeps
// these errors in memory: as many bytes as its dense gradients, and up to 64 MiB for each embedding, beyond which the
// least recently pushed rows are forgotten. When a thread ends, its remaining errors are dropped; they are smaller than
// the format can represent.
//
// Weights that workers pull are always float32: a rounded weight would bias the forward pass permanently. A job without
// servers trains with PayloadFloat32 only.
//
// In sync, only PayloadFloat32 makes training with any number of workers equal to training in one process bit for bit;
// with other payloads it is equal up to their rounding.
type Payload string

const (
	// PayloadFloat32 sends gradients as they are, 4 bytes a number.
	PayloadFloat32 Payload = "float32"
	// PayloadFloat16 sends 2 bytes a number, 11 significant bits. The part of a number beyond ±65504 is sent in the
	// following steps.
	PayloadFloat16 Payload = "float16"
	// PayloadBFloat16 sends 2 bytes a number, 8 significant bits and the range of float32.
	PayloadBFloat16 Payload = "bfloat16"
	// PayloadInt8 sends 1 byte a number, and a scale of 4 bytes for each row of an embedding and for every 256 numbers
	// of dense gradients. Rows of width 1 become larger.
	PayloadInt8 Payload = "int8"
)
