//! Small records that processes change by compare-and-swap.
//!
//! A record is one point. Each write gives it a new token and names the token it expects. The
//! result is read back from a majority of replicas: an answer may be lost, or an isolated node may
//! have agreed alone. Of three replicas, unlike of two, a majority survives the loss of one.

use std::time::Duration;

use qdrant_client::qdrant::{
    CreateCollection, DeletePoints, Filter, GetPoints, PointsSelector, ReadConsistency,
    ReadConsistencyType, UpsertPoints, WriteOrdering, WriteOrderingType,
    points_selector::PointsSelectorOneOf, read_consistency,
};
use serde::{Serialize, de::DeserializeOwned};
use uuid::Uuid;

use super::{
    QdrantNode, QdrantServer,
    convert::{self, NewPoint},
    error::CallError,
    names,
    read::payload_selector,
    setup::IndexUse,
    write::check_applied,
};

/// The field by which writes are compared.
const TOKEN: &str = "token";
/// Replicas of the records. A cluster of fewer nodes makes as many as it has.
const REPLICAS: u32 = 3;
/// Maximum time for a call, well below a lease's term, to leave a silent node for another one.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);

impl QdrantServer {
    pub(super) async fn read_record<T: DeserializeOwned>(
        &self,
        id: Uuid,
    ) -> Result<Option<T>, CallError> {
        match self.get_record(id, None).await {
            Err(CallError::Missing { .. }) => {
                self.create_control().await?;
                self.get_record(id, None).await
            }
            read => read,
        }
    }

    /// Writes a record if the current one has the token `expected` or does not exist. Returns the record
    /// that is current then, of any writer.
    pub(super) async fn swap_record<T: Serialize + DeserializeOwned>(
        &self,
        id: Uuid,
        expected: Option<&str>,
        record: &T,
    ) -> Result<Option<T>, CallError> {
        let payload = convert::to_payload(record)
            .map_err(|error| CallError::new_refusal(error.to_string()))?;
        // The filter does not apply to missing points.
        let condition = convert::filter_keyword(TOKEN, expected.unwrap_or("nobody's"));
        let request = UpsertPoints {
            collection_name: self.control_name(),
            wait: Some(true),
            points: vec![convert::to_point_struct(NewPoint { id, payload, vectors: None })],
            ordering: Some(write_ordering()),
            update_filter: Some(condition),
            ..Default::default()
        };
        let write = |node: QdrantNode| async move {
            check_applied(node.points_client().upsert(request).await)
        };
        self.link.try_within(CALL_TIMEOUT, write).await?;
        self.get_record(id, Some(ReadConsistencyType::Quorum)).await
    }

    pub(super) async fn delete_record(&self, tokens: &[String]) -> Result<(), CallError> {
        let should =
            tokens.iter().flat_map(|token| convert::filter_keyword(TOKEN, token).must).collect();
        let selected = PointsSelectorOneOf::Filter(Filter { should, ..Default::default() });
        let request = DeletePoints {
            collection_name: self.control_name(),
            wait: Some(true),
            points: Some(PointsSelector { points_selector_one_of: Some(selected) }),
            ordering: Some(write_ordering()),
            ..Default::default()
        };
        let delete = |node: QdrantNode| async move {
            check_applied(node.points_client().delete(request).await)
        };
        self.link.try_within(CALL_TIMEOUT, delete).await
    }

    async fn get_record<T: DeserializeOwned>(
        &self,
        id: Uuid,
        consistency: Option<ReadConsistencyType>,
    ) -> Result<Option<T>, CallError> {
        let read_consistency = consistency.map(|level| ReadConsistency {
            value: Some(read_consistency::Value::Type(level.into())),
        });
        let request = GetPoints {
            collection_name: self.control_name(),
            ids: vec![convert::to_point_id(id)],
            with_payload: Some(payload_selector(true)),
            read_consistency,
            ..Default::default()
        };
        let read = |node: QdrantNode| async move { node.points_client().get(request).await };
        let points = self.link.try_within(CALL_TIMEOUT, read).await?.result;
        let Some(point) = points.into_iter().next() else { return Ok(None) };
        let malformed =
            |error| CallError::new_refusal(format!("it holds a malformed record: {error}"));
        convert::parse_record(point.payload).map(Some).map_err(malformed)
    }

    async fn create_control(&self) -> Result<(), CallError> {
        let request = CreateCollection {
            shard_number: Some(1),
            replication_factor: Some(self.settings.replication.max(REPLICAS)),
            ..self.collection_params(self.control_name())
        };
        self.create_if_missing(request).await?;
        self.create_keyword_index(self.control_name(), TOKEN, IndexUse::Often).await
    }

    pub(super) fn control_name(&self) -> String {
        names::control_name(&self.settings.collection)
    }
}

/// Sends all writes of a record through one live replica. The server's strongest order would
/// wait for one certain node, whose loss would stop all writes.
fn write_ordering() -> WriteOrdering {
    WriteOrdering { r#type: WriteOrderingType::Medium.into() }
}
