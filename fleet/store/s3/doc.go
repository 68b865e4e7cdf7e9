// Package s3 keeps files in buckets of S3, or of services with the same protocol.
//
//	func main() {
//		if err := s3.Mount(s3.Options{}); err != nil {
//			log.Fatal(err)
//		}
//		train.Main(…) // -checkpoint=s3://bucket/job
//	}
//
// Credentials and region are found as in other AWS programs: by AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
// AWS_SESSION_TOKEN and AWS_REGION, a profile, a web identity (IRSA), or the identity of a pod or machine.
// AWS_ENDPOINT_URL selects a service other than Amazon's.
//
// The service must support conditions on PUT and on CompleteMultipartUpload (If-None-Match: *, If-Match with an ETag),
// as Amazon's does; on others, claiming a directory fails. The program needs the permissions GetObject, PutObject,
// DeleteObject, ListBucket and AbortMultipartUpload. Incomplete uploads of a process that was killed remain, invisible,
// until a lifecycle rule of the bucket removes them: create one (AbortIncompleteMultipartUpload).
//
// Importing this package makes a program about 5 MB larger.
package s3
