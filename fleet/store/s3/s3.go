package s3

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/gofleet/gofleet/fleet/store"
)

// Options select a service. The zero value uses the environment.
type Options struct {
	// Endpoint is the URL of a service that is not Amazon's, such as http://minio:9000.
	Endpoint string
	Region   string
	// PieceBytes is the part size of multipart uploads; 0 means 8 MiB, and the least is 5 MiB. Files that would need
	// more than 10,000 parts have larger ones.
	PieceBytes int64
	// Credentials replace the ones that would be found.
	Credentials aws.CredentialsProvider
}

const (
	defaultPiece = 8 << 20
	leastPiece   = 5 << 20
	mostPieces   = 10_000
)

// Mount makes names that begin with s3:// refer to buckets of a service, in all of this process.
func Mount(o Options) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := New(ctx, o)
	if err != nil {
		return err
	}
	return store.Mount("s3", s)
}

// Store keeps files in buckets; the first part of a name is the bucket.
type Store struct {
	client *s3.Client
	piece  int64
	slow   s3.HTTPClient // for requests on which a service works before it answers
	there  sync.Map      // buckets that are known to exist
}

// New makes a store without making a request.
func New(ctx context.Context, o Options) (*Store, error) {
	if o.PieceBytes != 0 && o.PieceBytes < leastPiece {
		return nil, fmt.Errorf("s3: PieceBytes is %d: S3 takes pieces of %d bytes or more", o.PieceBytes, leastPiece)
	}
	endpoint := cmp.Or(o.Endpoint, os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"))
	client := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.ResponseHeaderTimeout = answerTime
	})
	load := []func(*config.LoadOptions) error{config.WithHTTPClient(client)}
	if o.Region != "" {
		load = append(load, config.WithRegion(o.Region))
	}
	if o.Credentials != nil {
		load = append(load, config.WithCredentialsProvider(o.Credentials))
	}
	c, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, fmt.Errorf("s3: %w", err)
	}
	if c.Region == "" && endpoint != "" {
		c.Region = "us-east-1" // other services don't check it
	}
	if c.Region == "" {
		return nil, errors.New("s3: no region is set: set AWS_REGION, or Options.Region, to that of the bucket")
	}
	slow := c.HTTPClient // includes the certificates of AWS_CA_BUNDLE, if set
	if b, is := slow.(*awshttp.BuildableClient); is {
		slow = b.WithTransportOptions(func(t *http.Transport) { t.ResponseHeaderTimeout = 0 })
	}
	return &Store{piece: cmp.Or(o.PieceBytes, defaultPiece), slow: slow,
		client: s3.NewFromConfig(c, func(s *s3.Options) {
			if endpoint != "" {
				s.BaseEndpoint, s.UsePathStyle = &endpoint, true
			}
			s.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired // others have no trailers
			s.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
			s.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts, o.MaxBackoff = 4, backoff })
		})}, nil
}

// answerTime is how long a service may take to begin an answer before the request is made again.
var answerTime = 20 * time.Second

// backoff is the longest wait before the next attempt.
var backoff = 10 * time.Second

// split returns the bucket and the key of a name.
func split(name string) (bucket, key *string) {
	b, k, _ := strings.Cut(name, "/")
	return &b, &k
}

// said converts an error to those of package store.
func said(op, name string, err error) error {
	var answer interface{ HTTPStatusCode() int }
	if err == nil || !errors.As(err, &answer) {
		return err
	}
	switch answer.HTTPStatusCode() {
	case http.StatusNotFound:
		var why interface{ ErrorCode() string }
		if errors.As(err, &why) && why.ErrorCode() == "NoSuchBucket" {
			return noBucket(name, err)
		}
		return &fs.PathError{Op: op, Path: "s3://" + name, Err: notThere{err}}
	case http.StatusPreconditionFailed, http.StatusConflict:
		return fmt.Errorf("%w: %w", store.ErrChanged, err)
	case http.StatusNotImplemented:
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	case http.StatusMovedPermanently:
		return fmt.Errorf("the bucket is in another region than AWS_REGION or Options.Region says: %w", err)
	}
	return err
}

// noBucket is the error for a name in a bucket that does not exist. It is not fs.ErrNotExist, since nothing can be put
// there.
func noBucket(name string, err error) error {
	bucket, _ := split(name)
	return fmt.Errorf("s3: bucket %q does not exist: correct s3://%s, or make the bucket: %w", *bucket, name, err)
}

// checkBucket returns an error if the bucket of a missing object does not exist either, which an answer to HEAD does
// not show. If the service does not answer the question, it is not asked again.
func (s *Store) checkBucket(ctx context.Context, name string) error {
	bucket, _ := split(name)
	if _, known := s.there.Load(*bucket); known {
		return nil
	}
	_, err := s.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: bucket})
	var answer interface{ HTTPStatusCode() int }
	if errors.As(err, &answer) && answer.HTTPStatusCode() == http.StatusNotFound {
		return noBucket(name, err)
	}
	if err == nil || errors.As(err, &answer) {
		s.there.Store(*bucket, true)
	}
	return nil
}

// notThere is the error for a bucket or object that does not exist.
type notThere struct{ error }

func (n notThere) Is(target error) bool { return target == fs.ErrNotExist }

func (n notThere) Unwrap() error { return n.error }

// Stat implements [store.Store].
func (s *Store) Stat(ctx context.Context, name string) (store.Info, error) {
	i, _, err := s.head(ctx, name)
	return i, err
}

// head describes an object, and returns the mark of its put.
func (s *Store) head(ctx context.Context, name string) (i store.Info, mark string, err error) {
	bucket, key := split(name)
	if *key == "" {
		return i, "", &fs.PathError{Op: "stat", Path: "s3://" + name, Err: fs.ErrNotExist}
	}
	h, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: bucket, Key: key})
	if err = said("stat", name, err); errors.Is(err, fs.ErrNotExist) {
		err = cmp.Or(s.checkBucket(ctx, name), err)
	}
	if err != nil {
		return i, "", err
	}
	i = store.Info{Name: path.Base(name), Size: aws.ToInt64(h.ContentLength), Modified: aws.ToTime(h.LastModified),
		Version: aws.ToString(h.ETag)}
	return i, h.Metadata[markKey], nil
}

// Open implements [store.Store].
func (s *Store) Open(ctx context.Context, name string, r store.Range) (io.ReadCloser, error) {
	bucket, key := split(name)
	in := &s3.GetObjectInput{Bucket: bucket, Key: key}
	if r.Version != "" {
		in.IfMatch = &r.Version
	}
	switch {
	case r.Bytes > 0:
		in.Range = aws.String(fmt.Sprintf("bytes=%d-%d", r.From, r.From+r.Bytes-1))
	case r.From > 0:
		in.Range = aws.String(fmt.Sprintf("bytes=%d-", r.From))
	}
	got, err := s.client.GetObject(ctx, in)
	var answer interface{ HTTPStatusCode() int }
	if errors.As(err, &answer) && answer.HTTPStatusCode() == http.StatusRequestedRangeNotSatisfiable {
		return io.NopCloser(bytes.NewReader(nil)), nil
	}
	if err != nil {
		return nil, said("open", name, err)
	}
	return got.Body, nil
}

// List implements [store.Store].
func (s *Store) List(ctx context.Context, dir string) (all []store.Info, err error) {
	bucket, key := split(dir)
	prefix := *key
	if prefix != "" {
		prefix += "/"
	}
	pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: bucket, Prefix: &prefix,
		Delimiter: aws.String("/")})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, said("list", dir, err)
		}
		for _, o := range page.Contents {
			if name := strings.TrimPrefix(aws.ToString(o.Key), prefix); name != "" { // directories of some services
				all = append(all, store.Info{Name: name, Size: aws.ToInt64(o.Size),
					Modified: aws.ToTime(o.LastModified), Version: aws.ToString(o.ETag)})
			}
		}
		for _, p := range page.CommonPrefixes {
			name := strings.TrimSuffix(strings.TrimPrefix(aws.ToString(p.Prefix), prefix), "/")
			all = append(all, store.Info{Name: name, Dir: true})
		}
	}
	return all, nil
}

// Remove implements [store.Store].
func (s *Store) Remove(ctx context.Context, name string) error {
	bucket, key := split(name)
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: bucket, Key: key})
	if err = said("remove", name, err); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
