// Package s3 keeps files in buckets of S3, and of services that speak its protocol.
//
//	func main() {
//		if err := s3.Mount(s3.Options{}); err != nil {
//			log.Fatal(err)
//		}
//		train.Main(…) // -checkpoint=s3://bucket/job
//	}
//
// Credentials and region are found as other programs of AWS find them: by AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
// AWS_SESSION_TOKEN and AWS_REGION, a profile, a web identity (IRSA), an identity of a pod or of a machine.
// AWS_ENDPOINT_URL names another service than Amazon's.
//
// A service has to keep conditions on PUT and on CompleteMultipartUpload (If-None-Match: *, If-Match with an ETag), as
// Amazon's does: a claim of a directory is refused on others. It needs the rights GetObject, PutObject, DeleteObject,
// ListBucket and AbortMultipartUpload. What a process that was killed has uploaded of a file in pieces stays unseen
// until a rule of the bucket's life cycle removes it (AbortIncompleteMultipartUpload): make one.
//
// A program that imports it grows by about 5 MB.
package s3
