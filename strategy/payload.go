package strategy

// Payload is how the numbers of a pushed gradient travel. What rounding takes from a gradient stays on the worker and
// is added to its next gradient of the same variable or row, so that nothing is lost over many steps. Each training
// thread keeps that in memory: as much as its dense gradients, and up to 64 MiB for each embedding, beyond which the
// rows that were not pushed for longest are forgotten. What is left when a thread ends is dropped; it is less than a
// push can say.
//
// Weights that workers pull are float32 under every payload: a rounded weight would spoil the forward pass for
// good. A job without servers trains with PayloadFloat32 only.
//
// That training of any number of workers equals training in one process holds bit for bit for PayloadFloat32 only; with
// the others it holds up to their rounding.
type Payload string

const (
	// PayloadFloat32 sends gradients as they are, 4 bytes a number.
	PayloadFloat32 Payload = "float32"
	// PayloadFloat16 sends 2 bytes a number, 11 significant bits. What is beyond ±65504 goes in the steps that follow.
	PayloadFloat16 Payload = "float16"
	// PayloadBFloat16 sends 2 bytes a number, 8 significant bits and the range of float32.
	PayloadBFloat16 Payload = "bfloat16"
	// PayloadInt8 sends 1 byte a number, and a scale of 4 bytes for each row of an embedding and for every 256 numbers
	// of dense gradients. Rows narrower than 2 grow by it.
	PayloadInt8 Payload = "int8"
)

// Payloads are all payloads.
func Payloads() []Payload {
	return []Payload{PayloadFloat32, PayloadFloat16, PayloadBFloat16, PayloadInt8}
}
