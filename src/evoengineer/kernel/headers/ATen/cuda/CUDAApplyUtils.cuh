#pragma once
#include "../../evo/apply.h"
#include "../../evo/atomic.h"
