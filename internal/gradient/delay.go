package gradient

// Compensate replaces w, a server's present weights, by the gradient to apply in place of g. A worker has computed g at
// the weights that it pulled; with λ
//
//	g + λ·g⊙g⊙(w − pulled)
//
// is a first-order estimate of its gradient at w. Zheng et al., "Asynchronous Stochastic Gradient Descent with Delay
// Compensation", ICML 2017. The four slices have the same length.
func Compensate(w, g, pulled []float32, lambda float32) {
	for i, v := range g {
		w[i] = v + float32(lambda*v*v*(w[i]-pulled[i]))
	}
}
