// SPDX-License-Identifier: Apache-2.0
// How rows of the tables in api_*.cc are written: each is a function that adds one field. `of` is the object.
#pragma once

#define SPUR_API_ADD(...) [](Document& to, std::string_view key, const auto& of) { (void)of, __VA_ARGS__; }
#define API_VALUE(...) SPUR_API_ADD(to.field(key, __VA_ARGS__))          // text, truth, number or list, by type
#define API_NUMBER(expression) SPUR_API_ADD(to.number(key, expression))  // {set, infinite, number}
#define API_UNSET SPUR_API_ADD(to.number(key, std::nullopt))             // ... not set
#define API_ZERO SPUR_API_ADD(to.number(key, 0))                         // ... set to 0
#define API_INFINITE SPUR_API_ADD(to.number(key, std::nullopt, true))    // ... without bound
#define API_MOMENT(expression) SPUR_API_ADD(to.moment(key, expression))  // ... seconds of the epoch
#define API_NONE SPUR_API_ADD(to.field(key, ""))                         // text that is always empty
#define API_NO_LIST SPUR_API_ADD(to.open_array(key).close_array())       // a list that is always empty
#define API_NO_OBJECT SPUR_API_ADD(to.open_object(key).close_object())
