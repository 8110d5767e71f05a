//! Writes: in batches that fit a message, a few of them at a time.
//!
//! A write waits until it is made, one after the other. Its task outlives the caller, so that the order is preserved,
//! and stops retrying when the caller is dropped.

use std::collections::HashMap;

use futures_util::{StreamExt, TryStreamExt, stream};
use qdrant_client::qdrant::{
    DeletePoints, PointStruct, PointsOperationResponse, PointsSelector, UpdateStatus, UpsertPoints,
    points_selector::PointsSelectorOneOf,
};
use tonic::{Response, Status};
use uuid::Uuid;

use super::{
    QdrantServer,
    convert::{self, NewPoint},
    names::CollectionKind,
};
use crate::StoreError;

const MAX_BATCH_POINTS: usize = 64;
/// Maximum bytes of one message, except for a point that is larger by itself. Proxies often limit messages to 4 MiB.
const MAX_BATCH_BYTES: usize = 3 << 20;
/// Number of messages of one write that are in flight. More only wait in the server.
const MAX_IN_FLIGHT: usize = 4;

impl QdrantServer {
    pub(super) async fn upsert_points(
        &self,
        into: CollectionKind,
        points: Vec<NewPoint>,
    ) -> Result<(), StoreError> {
        let requests = split_into_batches(points).into_iter().map(|points| UpsertPoints {
            wait: Some(true),
            points,
            ..Default::default()
        });
        let send = |request: UpsertPoints| async move {
            self.write(into.write_action(), |node, names| {
                let request = UpsertPoints { collection_name: names.name(into), ..request.clone() };
                async move { check_applied(node.points_client().upsert(request).await) }
            })
            .await
        };
        stream::iter(requests).map(send).buffer_unordered(MAX_IN_FLIGHT).try_collect().await
    }

    pub(super) async fn delete_points(
        &self,
        from: CollectionKind,
        selected: PointsSelectorOneOf,
    ) -> Result<(), StoreError> {
        let request = DeletePoints {
            wait: Some(true),
            points: Some(PointsSelector { points_selector_one_of: Some(selected) }),
            ..Default::default()
        };
        self.write(from.write_action(), |node, names| {
            let request = DeletePoints { collection_name: names.name(from), ..request.clone() };
            async move { check_applied(node.points_client().delete(request).await) }
        })
        .await
    }
}

/// Fails if an answer does not confirm the change.
pub(super) fn check_applied(
    answer: Result<Response<PointsOperationResponse>, Status>,
) -> Result<Response<()>, Status> {
    let result = answer?.into_inner().result;
    match result.map(|result| result.status()) {
        Some(UpdateStatus::Completed) => Ok(Response::new(())),
        other => {
            let name = other.map_or("nothing", |status| status.as_str_name());
            Err(Status::internal(format!("the server answered `{name}` to a change")))
        }
    }
}

/// Splits points into messages. Of points with the same id the last one counts, as messages may overtake each other.
fn split_into_batches(points: Vec<NewPoint>) -> Vec<Vec<PointStruct>> {
    let last: HashMap<Uuid, usize> =
        points.iter().enumerate().map(|(at, point)| (point.id, at)).collect();
    let mut batches = Vec::new();
    let (mut batch, mut bytes) = (Vec::new(), 0);
    for (at, point) in points.into_iter().enumerate() {
        if last.get(&point.id) != Some(&at) {
            continue;
        }
        let size = convert::estimate_bytes(&point);
        if !batch.is_empty() && (batch.len() >= MAX_BATCH_POINTS || bytes + size > MAX_BATCH_BYTES)
        {
            batches.push(std::mem::take(&mut batch));
            bytes = 0;
        }
        bytes += size;
        batch.push(convert::to_point_struct(point));
    }
    if !batch.is_empty() {
        batches.push(batch);
    }
    batches
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn point(id: u128, text: &str) -> NewPoint {
        let payload = json!({ "text": text }).as_object().unwrap().clone();
        NewPoint { id: Uuid::from_u128(id), payload, vectors: None }
    }

    #[test]
    fn messages_are_bounded_by_points_and_by_bytes() {
        let sizes = |points: Vec<NewPoint>| -> Vec<usize> {
            split_into_batches(points).iter().map(Vec::len).collect()
        };
        assert_eq!(sizes(Vec::new()), [0; 0]);
        assert_eq!(sizes((0..130).map(|id| point(id, "")).collect()), [64, 64, 2]);
        let megabyte = "x".repeat(1 << 20);
        assert_eq!(sizes((0..5).map(|id| point(id, &megabyte)).collect()), [2, 2, 1]);
        let large = "x".repeat(5 << 20);
        assert_eq!(sizes(vec![point(1, ""), point(2, &large), point(3, "")]), [1, 1, 1]);
    }

    #[test]
    fn of_points_with_the_same_id_the_last_one_is_sent() {
        let sent = split_into_batches(vec![point(1, "old"), point(2, "two"), point(1, "new")]);
        let texts: Vec<String> = sent
            .into_iter()
            .flatten()
            .map(|point| convert::from_payload(point.payload)["text"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(texts, ["two", "new"]);
    }
}
