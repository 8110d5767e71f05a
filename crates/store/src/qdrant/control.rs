//! Small records that processes change only when they know the current one: the server compares.
//!
//! A record is one point. Each way of writing it gives it another token, and a write names the token
//! it expects. What the write came to is read back from most replicas, because an answer may be lost
//! and because a node that is cut off may have agreed alone. There are three replicas, however many
//! the index has: of two, the loss of one would leave no majority, and no lease could be renewed.

use std::time::Duration;

use qdrant_client::qdrant::{
    CreateCollection, DeletePoints, FieldType, Filter, GetPoints, PointsSelector, ReadConsistency,
    ReadConsistencyType, UpsertPoints, WriteOrdering, WriteOrderingType,
    points_selector::PointsSelectorOneOf, read_consistency,
};
use serde::{Serialize, de::DeserializeOwned};
use uuid::Uuid;

use super::{
    Server,
    convert::{self, Point},
    error::CallError,
    names,
    read::payloads,
    records, setup,
    write::applied,
};

/// The field by which writes are compared.
const TOKEN: &str = "token";
/// Replicas of the records. A cluster of fewer nodes makes as many as it has.
const REPLICAS: u32 = 3;
/// How long one call about a record may take: a lease is renewed several times in its term, so that a
/// node that does not answer can be left for another one.
const LIMIT: Duration = Duration::from_secs(5);

impl Server {
    /// Reads a record.
    pub(super) async fn record<T: DeserializeOwned>(
        &self,
        id: Uuid,
    ) -> Result<Option<T>, CallError> {
        match self.get(id, None).await {
            Err(CallError::Missing { .. }) => {
                self.make_control().await?;
                self.get(id, None).await
            }
            read => read,
        }
    }

    /// Writes a record if the current one has the token `expected`, or if there is none. Returns what
    /// is there then, from any writer.
    pub(super) async fn swap<T: Serialize + DeserializeOwned>(
        &self,
        id: Uuid,
        expected: Option<&str>,
        record: &T,
    ) -> Result<Option<T>, CallError> {
        let payload =
            records::payload(record).map_err(|error| CallError::refused(error.to_string()))?;
        // Points that are not there are written whatever the filter says.
        let condition = convert::equals(TOKEN, expected.unwrap_or("nobody's"));
        let request = UpsertPoints {
            collection_name: self.control(),
            wait: Some(true),
            points: vec![convert::point(Point { id, payload, vectors: None })],
            ordering: Some(ordering()),
            update_filter: Some(condition),
            ..Default::default()
        };
        let write = |node: super::Node| {
            let request = request.clone();
            async move { applied(node.points().upsert(request).await) }
        };
        self.link.once_within(LIMIT, write).await?;
        self.get(id, Some(ReadConsistencyType::Quorum)).await
    }

    /// Deletes the record that has one of these tokens.
    pub(super) async fn give_up(&self, tokens: &[String]) -> Result<(), CallError> {
        let should = tokens.iter().flat_map(|token| convert::equals(TOKEN, token).must).collect();
        let selected = PointsSelectorOneOf::Filter(Filter { should, ..Default::default() });
        let request = DeletePoints {
            collection_name: self.control(),
            wait: Some(true),
            points: Some(PointsSelector { points_selector_one_of: Some(selected) }),
            ordering: Some(ordering()),
            ..Default::default()
        };
        let delete = |node: super::Node| {
            let request = request.clone();
            async move { applied(node.points().delete(request).await) }
        };
        self.link.once_within(LIMIT, delete).await
    }

    async fn get<T: DeserializeOwned>(
        &self,
        id: Uuid,
        consistency: Option<ReadConsistencyType>,
    ) -> Result<Option<T>, CallError> {
        let read_consistency = consistency
            .map(|of| ReadConsistency { value: Some(read_consistency::Value::Type(of.into())) });
        let request = GetPoints {
            collection_name: self.control(),
            ids: vec![convert::id(id)],
            with_payload: Some(payloads(true)),
            read_consistency,
            ..Default::default()
        };
        let read = |node: super::Node| {
            let request = request.clone();
            async move { node.points().get(request).await }
        };
        let points = self.link.once_within(LIMIT, read).await?.result;
        let Some(point) = points.into_iter().next() else { return Ok(None) };
        let malformed = |error| CallError::refused(format!("it holds a malformed record: {error}"));
        records::record(point.payload).map(Some).map_err(malformed)
    }

    async fn make_control(&self) -> Result<(), CallError> {
        let request = CreateCollection {
            shard_number: Some(1),
            replication_factor: Some(self.settings.replication.max(REPLICAS)),
            ..self.collection(self.control())
        };
        self.make(request).await?;
        self.index(self.control(), TOKEN, setup::keyword(setup::Use::Often), FieldType::Keyword)
            .await
    }

    /// Returns the name of the collection of these records.
    pub(super) fn control(&self) -> String {
        names::control(&self.settings.collection)
    }
}

/// All writes of a record go through one replica, any that lives. The server's strongest order would
/// wait for one certain node, so that its loss would keep everybody from writing.
fn ordering() -> WriteOrdering {
    WriteOrdering { r#type: WriteOrderingType::Medium.into() }
}
