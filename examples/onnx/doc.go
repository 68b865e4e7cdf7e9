// Command onnx writes a saved model as a file of ONNX, which ONNX Runtime and others compute in programs of any
// language.
//
//	go run ./examples/deepfm
//	go run ./examples/onnx -model=output/deepfm/model -out=deepfm.onnx
//
// With -deltas=DIR,DIR these are read over the model, in this order; -outputs=NAME,NAME chooses what is computed;
// -rows=NAME leaves an embedding with the caller, whose rows are an input then. Package nn/onnx has what a file
// answers, and what is refused. A model with ops of one's own (nn.Custom), or with a format of one's own, is exported
// by the program that knows them: onnx.Export is a call.
package main
