// SPDX-License-Identifier: Apache-2.0
// Nodes and what is asked of them, as messages.
#pragma once

#include "base/result.h"
#include "model/node.h"
#include "state/command.h"

namespace spur::v1 {
class Node;
class NodeGres;
class NodeHardware;
class NodeUpdate;
}  // namespace spur::v1

namespace spur::wire {

void to_proto(const model::NodeGres& from, v1::NodeGres* to);
Status from_proto(const v1::NodeGres& from, model::NodeGres* to);
void to_proto(const model::NodeHardware& from, v1::NodeHardware* to);
Status from_proto(const v1::NodeHardware& from, model::NodeHardware* to);
void to_proto(const model::Node& from, v1::Node* to);
Status from_proto(const v1::Node& from, model::Node* to);
void to_proto(const state::UpdateNode& from, v1::NodeUpdate* to);
Status from_proto(const v1::NodeUpdate& from, state::UpdateNode* to);

}  // namespace spur::wire
