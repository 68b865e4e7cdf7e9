//go:build amd64 || arm64

package kernels

//go:noescape
func halfLanes(dst []byte, x []float32)

//go:noescape
func fromHalfLanes(dst []float32, src []byte)

//go:noescape
func bfloatLanes(dst []byte, x []float32)

//go:noescape
func fromBFloatLanes(dst []float32, src []byte)

//go:noescape
func int8Lanes(dst []byte, x []float32) (scale float32)

//go:noescape
func fromInt8Lanes(dst []float32, src []byte, scale float32)
