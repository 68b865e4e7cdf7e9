package s3

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/gofleet/gofleet/fleet/store"
)

// markKey is the metadata key of the mark of a put. If the answer to a conditional put is lost, the repeated request is
// refused, since the object exists; by the mark the put recognises its own object.
const markKey = "gofleet-put"

// Put implements [store.Store].
func (s *Store) Put(ctx context.Context, name string, content *io.SectionReader, c store.Condition) (string, error) {
	mark := rand.Text()
	put := s.putWhole
	if content.Size() > s.piece {
		put = s.putPieces
	}
	version, err := put(ctx, name, content, c, mark)
	if err == nil {
		return version, nil
	}
	if err = said("write", name, err); errors.Is(err, store.ErrChanged) || errors.Is(err, fs.ErrNotExist) {
		is, has, unknown := s.head(ctx, name)
		switch {
		case unknown == nil && has == mark:
			return is.Version, nil
		case c.Version != "" && errors.Is(unknown, fs.ErrNotExist): // there is no object that could have the version
			return "", errors.Join(store.ErrChanged, err)
		}
	}
	return "", err
}

// conditions are the headers of a request.
func conditions(c store.Condition) (ifMatch, ifNoneMatch *string) {
	if c.Version != "" {
		ifMatch = &c.Version
	}
	if c.Absent {
		ifNoneMatch = aws.String("*")
	}
	return ifMatch, ifNoneMatch
}

func (s *Store) putWhole(ctx context.Context, name string, content *io.SectionReader, c store.Condition,
	mark string) (string, error) {
	bucket, key := split(name)
	in := &s3.PutObjectInput{Bucket: bucket, Key: key, Body: io.NewSectionReader(content, 0, content.Size()),
		ContentLength: aws.Int64(content.Size()), Metadata: map[string]string{markKey: mark}}
	in.IfMatch, in.IfNoneMatch = conditions(c)
	out, err := s.client.PutObject(ctx, in)
	if err != nil {
		return "", err
	}
	return aws.ToString(out.ETag), nil
}

// putPieces uploads a file in pieces, some at a time, which become an object when all are uploaded.
func (s *Store) putPieces(ctx context.Context, name string, content *io.SectionReader, c store.Condition,
	mark string) (version string, err error) {
	bucket, key := split(name)
	begun, err := s.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: bucket, Key: key,
		Metadata: map[string]string{markKey: mark}})
	if err != nil {
		return "", err
	}
	begun.Bucket, begun.Key = bucket, key // some services don't repeat them
	defer func() {
		if err == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
		defer cancel()
		// the bucket's rules remove the rest
		_, _ = s.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: bucket, Key: key,
			UploadId: begun.UploadId})
	}()
	pieces, err := s.upload(ctx, begun, content)
	if err != nil {
		return "", err
	}
	in := &s3.CompleteMultipartUploadInput{Bucket: bucket, Key: key, UploadId: begun.UploadId,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: pieces}}
	in.IfMatch, in.IfNoneMatch = conditions(c)
	// Some services copy the pieces into one object before they answer.
	ctx, cancel := context.WithTimeout(ctx, pieceTime+time.Duration(content.Size()>>23)*time.Second)
	defer cancel()
	out, err := s.client.CompleteMultipartUpload(ctx, in, func(o *s3.Options) { o.HTTPClient = s.slow })
	if err != nil {
		return "", err
	}
	return aws.ToString(out.ETag), nil
}

const (
	uploads   = 4           // at a time
	pieceTime = time.Minute // for each, and a second more for every 256 KiB
)

// upload uploads all pieces.
func (s *Store) upload(ctx context.Context, begun *s3.CreateMultipartUploadOutput,
	content *io.SectionReader) ([]types.CompletedPart, error) {
	size := pieceOf(content.Size(), s.piece)
	pieces := make([]types.CompletedPart, (content.Size()+size-1)/size)
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	next := make(chan int)
	var all sync.WaitGroup
	for range min(uploads, len(pieces)) {
		all.Go(func() {
			for i := range next {
				at := int64(i) * size
				etag, err := s.uploadPiece(ctx, begun, int32(i+1),
					io.NewSectionReader(content, at, min(size, content.Size()-at)))
				if err != nil {
					fail(err)
				}
				pieces[i] = types.CompletedPart{ETag: etag, PartNumber: aws.Int32(int32(i + 1))}
			}
		})
	}
	for i := range pieces {
		if ctx.Err() == nil {
			next <- i
		}
	}
	close(next)
	all.Wait()
	return pieces, context.Cause(ctx)
}

// pieceOf returns the size of the pieces of a file, in bytes.
func pieceOf(size, piece int64) int64 { return max(piece, (size+mostPieces-1)/mostPieces) }

func (s *Store) uploadPiece(ctx context.Context, begun *s3.CreateMultipartUploadOutput, number int32,
	content *io.SectionReader) (*string, error) {
	ctx, cancel := context.WithTimeout(ctx, pieceTime+time.Duration(content.Size()>>18)*time.Second)
	defer cancel()
	out, err := s.client.UploadPart(ctx, &s3.UploadPartInput{Bucket: begun.Bucket, Key: begun.Key,
		UploadId: begun.UploadId, PartNumber: &number, Body: content, ContentLength: aws.Int64(content.Size())})
	if err != nil {
		return nil, err
	}
	return out.ETag, nil
}
