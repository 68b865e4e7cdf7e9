package kernels

//go:noescape
func halfAVX2(dst []byte, x []float32)

//go:noescape
func fromHalfAVX2(dst []float32, src []byte)

//go:noescape
func bfloatAVX2(dst []byte, x []float32)

//go:noescape
func fromBFloatAVX2(dst []float32, src []byte)

//go:noescape
func int8AVX2(dst []byte, x []float32) (scale float32)

//go:noescape
func fromInt8AVX2(dst []float32, src []byte, scale float32)
