// Command ranking orders the flights that leave an airport within an hour by how likely each is to be late: what a desk
// with few people looks at first. The hour is a group, of any number of flights, and the loss compares those of one.
// Alone, or as one role of a cluster:
//
//	go run ./examples/ranking
//	go run ./examples/ranking -loss=pointwise
//	go run ./fleet/fleetrun --server_num=2 --worker_num=2 ./examples/ranking
//
// After an epoch NDCG@10 on days that it has not seen is 0.5468, 0.5771 and 0.5516 with seeds 1 to 3, which draw the
// days too; with each flight's own label 0.5458, 0.5765 and 0.5512; in a random order 0.45. With 60 days and two epochs
// the order gains more: 0.5523, 0.5928 and 0.5371, against 0.5423, 0.5897 and 0.5347. On the first seed's days
// LightGBM 4.7's lambdarank has 0.5306 after 25 rounds, its best of 10 to 100, from the carrier, number, tail number,
// route, times, plane and weather that the fields here are made of, and its binary objective 0.5369.
package main
